#pragma once
// Copies between host and device. The device computes nothing, so a copy to the host delivers zeros, unless the bytes
// were kept when they went there (--shadow) or a loop has to end (--true-after). Every read of the host is told to the
// observer, because what the program does with it depends on values that nobody computed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace memstrata::device {

/// Told of each copy to the host, on the thread that asked for it.
using ReadObserver = void (*)(uint64_t size_bytes);

class Copies {
 public:
  void Copy(void* target, const void* source, uint64_t size_bytes);
  void Set(void* target, int value, uint64_t size_bytes);
  void Forget(uintptr_t begin, uint64_t size_bytes);
  void set_observer(ReadObserver observer) { observer_ = observer; }
  uint64_t read_count() const { return read_count_; }

 private:
  void ToHost(void* target, uintptr_t source, uint64_t size_bytes);
  void Keep(uintptr_t target, const void* bytes, uint64_t size_bytes);
  bool Deliver(void* target, uintptr_t source, uint64_t size_bytes) const;
  void OnDevice(uintptr_t target, uintptr_t source, uint64_t size_bytes);
  void ForgetLocked(uintptr_t begin, uint64_t size_bytes);

  mutable std::mutex mutex_;
  std::map<uintptr_t, std::vector<std::byte>> kept_;
  ReadObserver observer_ = nullptr;
  uint64_t read_count_ = 0;
  uint64_t one_byte_read_count_ = 0;
};

Copies& DeviceCopies();

}  // namespace memstrata::device
