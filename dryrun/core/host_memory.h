#pragma once
// Pinned host memory: real memory that is remembered, because frameworks ask what kind of memory an address is.

#include <cstdint>
#include <map>
#include <mutex>

namespace memstrata::device {

class HostMemory {
 public:
  void* Allocate(uint64_t size_bytes);  // null when the machine has none left
  bool Free(void* address);
  void Register(const void* address, uint64_t size_bytes);
  bool Unregister(const void* address);
  bool IsPinned(uintptr_t address) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, uint64_t> allocated_;
  std::map<uintptr_t, uint64_t> registered_;
};

HostMemory& Host();

}  // namespace memstrata::device
