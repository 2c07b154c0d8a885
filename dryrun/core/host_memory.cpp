#include "core/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace memstrata::device {
namespace {

bool Contains(const std::map<uintptr_t, uint64_t>& ranges, uintptr_t address) {
  const auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) return false;
  const auto& [begin, size_bytes] = *std::prev(next);
  return address < begin + size_bytes;
}

}  // namespace

void* HostMemory::Allocate(uint64_t size_bytes) {
  const uint64_t mapped = std::max<uint64_t>(size_bytes, 1);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const std::scoped_lock lock(mutex_);
  allocated_[reinterpret_cast<uintptr_t>(memory)] = mapped;
  return memory;
}

bool HostMemory::Free(void* address) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocated_.find(reinterpret_cast<uintptr_t>(address));
  if (found == allocated_.end()) return false;
  munmap(address, found->second);
  allocated_.erase(found);
  return true;
}

void HostMemory::Register(const void* address, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  registered_[reinterpret_cast<uintptr_t>(address)] = size_bytes;
}

bool HostMemory::Unregister(const void* address) {
  const std::scoped_lock lock(mutex_);
  return registered_.erase(reinterpret_cast<uintptr_t>(address)) > 0;
}

bool HostMemory::IsPinned(uintptr_t address) const {
  const std::scoped_lock lock(mutex_);
  return Contains(allocated_, address) || Contains(registered_, address);
}

HostMemory& Host() {
  static auto* const host = new HostMemory();
  return *host;
}

}  // namespace memstrata::device
