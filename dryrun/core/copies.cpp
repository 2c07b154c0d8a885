#include "core/copies.h"

#include <cstring>

#include "core/device_memory.h"
#include "core/export.h"
#include "core/host_memory.h"
#include "core/settings.h"

namespace memstrata::device {
namespace {

// Tensors that are moved out to pinned memory come back as they are: nobody looks at them. PyTorch reads single values
// and counts by way of pinned memory too; these are small.
constexpr uint64_t kLargestPinnedReadBytes = 4096;

}  // namespace

void Copies::Copy(void* target, const void* source, uint64_t size_bytes) {
  if (size_bytes == 0) return;
  const auto to = reinterpret_cast<uintptr_t>(target);
  const auto from = reinterpret_cast<uintptr_t>(source);
  const bool to_device = Memory().Find(to).has_value();
  const bool from_device = Memory().Find(from).has_value();
  if (to_device && from_device) return OnDevice(to, from, size_bytes);
  if (to_device) return Keep(to, source, size_bytes);
  if (from_device) return ToHost(target, from, size_bytes);
  std::memmove(target, source, size_bytes);
}

void Copies::ToHost(void* target, uintptr_t source, uint64_t size_bytes) {
  uint64_t one_byte_reads = 0;
  bool delivered = false;
  {
    const std::scoped_lock lock(mutex_);
    ++read_count_;
    if (size_bytes == 1) one_byte_reads = ++one_byte_read_count_;
    delivered = Deliver(target, source, size_bytes);
  }
  const auto to = reinterpret_cast<uintptr_t>(target);
  if (!delivered) std::memset(target, 0, size_bytes);
  const uint64_t true_after = ProcessSettings().true_after;
  if (true_after > 0 && size_bytes == 1 && one_byte_reads % true_after == 0) *static_cast<uint8_t*>(target) = 1;
  const bool is_kept_for_later = size_bytes > kLargestPinnedReadBytes && Host().IsPinned(to);
  if (observer_ != nullptr && !is_kept_for_later) observer_(size_bytes);
}

bool Copies::Deliver(void* target, uintptr_t source, uint64_t size_bytes) const {
  const auto next = kept_.upper_bound(source);
  if (next == kept_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  if (source + size_bytes > begin + bytes.size()) return false;
  std::memcpy(target, bytes.data() + (source - begin), size_bytes);
  return true;
}

void Copies::Keep(uintptr_t target, const void* bytes, uint64_t size_bytes) {
  const uint64_t limit = ProcessSettings().shadow_limit_bytes;
  if (limit == 0) return;
  const std::scoped_lock lock(mutex_);
  ForgetLocked(target, size_bytes);
  if (size_bytes > limit) return;
  const auto* first = static_cast<const std::byte*>(bytes);
  kept_[target].assign(first, first + size_bytes);
}

void Copies::OnDevice(uintptr_t target, uintptr_t source, uint64_t size_bytes) {
  const uint64_t limit = ProcessSettings().shadow_limit_bytes;
  if (limit == 0) return;
  const std::scoped_lock lock(mutex_);
  std::vector<std::byte> bytes(size_bytes <= limit ? size_bytes : 0);
  const bool known = !bytes.empty() && Deliver(bytes.data(), source, size_bytes);
  ForgetLocked(target, size_bytes);
  if (known) kept_[target] = std::move(bytes);
}

void Copies::Set(void* target, int value, uint64_t size_bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(target);
  if (!Memory().Find(begin)) {
    std::memset(target, value, size_bytes);
    return;
  }
  const uint64_t limit = ProcessSettings().shadow_limit_bytes;
  if (limit == 0) return;
  const std::scoped_lock lock(mutex_);
  ForgetLocked(begin, size_bytes);
  if (size_bytes <= limit) kept_[begin].assign(size_bytes, static_cast<std::byte>(value));
}

void Copies::Forget(uintptr_t begin, uint64_t size_bytes) {
  if (ProcessSettings().shadow_limit_bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  ForgetLocked(begin, size_bytes);
}

void Copies::ForgetLocked(uintptr_t begin, uint64_t size_bytes) {
  auto entry = kept_.upper_bound(begin);
  if (entry != kept_.begin()) {
    const auto before = std::prev(entry);
    if (before->first + before->second.size() > begin) entry = before;
  }
  while (entry != kept_.end() && entry->first < begin + size_bytes) entry = kept_.erase(entry);
}

Copies& DeviceCopies() {
  static auto* const copies = new Copies();
  return *copies;
}

}  // namespace memstrata::device

/// For the start-up hook of the Python side, which knows the source line that reads.
MEMSTRATA_ANSWER(void) memstrata_dryrun_observe_reads(memstrata::device::ReadObserver observer) {
  memstrata::device::DeviceCopies().set_observer(observer);
}
