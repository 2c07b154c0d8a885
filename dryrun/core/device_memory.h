#pragma once
// The memory of the simulated cards. A device address is reserved host address space that nobody may touch, so that a
// program that follows one on the host faults, as it would with a real card. Physical memory is a number that is
// charged against the card. Thread-safe.
//
// Sources of the rules: physical memory is handed out in pages of 2 MiB (the granularity that
// cuMemGetAllocationGranularity reports on current cards); an allocation below 1 MiB shares such a page, so it is
// charged by 512 bytes.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace memstrata::device {

inline constexpr uint64_t kPageBytes = uint64_t{2} << 20;

struct Range {
  uintptr_t begin = 0;
  uint64_t size_bytes = 0;
  int32_t device = 0;
  bool is_reservation_only = false;  // an address range of the virtual memory interface
};

struct Usage {
  uint64_t used_bytes = 0;  // charged by the program, without the context
  uint64_t peak_bytes = 0;
  uint64_t allocation_count = 0;
  uint64_t refused_count = 0;
};

class DeviceMemory {
 public:
  /// Address, or 0 when the card has not enough left. Cost: O(allocations) in the worst case.
  uintptr_t Allocate(int32_t device, uint64_t size_bytes);
  /// False when `address` does not begin an allocation.
  bool Free(uintptr_t address);

  /// Address space alone, for the virtual memory interface; nothing is charged.
  uintptr_t Reserve(uint64_t size_bytes);
  bool Unreserve(uintptr_t address);
  /// Physical memory alone; false when the card has not enough left.
  bool Charge(int32_t device, uint64_t size_bytes);
  void Discharge(int32_t device, uint64_t size_bytes);
  /// Tells that reserved addresses now lie on `device`.
  void SetDevice(uintptr_t address, int32_t device);

  std::optional<Range> Find(uintptr_t address) const;
  Usage UsageOf(int32_t device) const;
  /// True in the process that took what is charged, false in a child that it forked.
  bool IsOwnUse() const;
  /// What neither this process nor another of the dry run has taken.
  uint64_t FreeBytes(int32_t device);

 private:
  struct Card {
    Usage usage;
    uintptr_t arena_begin = 0;
    uint64_t arena_bytes = 0;
    std::map<uintptr_t, uint64_t> allocations;  // by address
  };
  Card& CardOf(int32_t device);
  bool ChargeLocked(Card& card, uint64_t size_bytes);
  uint64_t FreeLocked(const Card& card) const;
  void PublishLocked(const Card& card) const;  // tells the other processes

  mutable std::mutex mutex_;
  std::vector<Card> cards_;
  int32_t user_process_id_ = 0;  // that charged last; 0: none yet
  std::map<uintptr_t, Range> reservations_;
};

DeviceMemory& Memory();

}  // namespace memstrata::device
