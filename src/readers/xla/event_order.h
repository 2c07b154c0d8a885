#pragma once
// The true order of an allocator's events of equal time: that in which their heap values follow from each other.
//
// Threads stamp their events independently, so that equal times happen even at nanosecond resolution. Each event says
// what the heap was after it, and its size says what it was before: events are edges from one heap value to another,
// and the order that happened is a path over all of them (Eulerian path, found by Hierholzer's algorithm).

#include <cstdint>
#include <span>
#include <vector>

namespace memstrata::xla {

/// The change that one event made.
struct HeapChange {
  uint64_t before_bytes = 0;
  uint64_t after_bytes = 0;
};

/// The order of simultaneous events as positions in `changes`: a path from `start_bytes` over all of them if there is
/// one (from any value when `has_start` is false), else each event in turn that follows from the one before, and the
/// recorded order where none does. Cost: O(n log n).
std::vector<uint32_t> OrderOfEqualTimes(std::span<const HeapChange> changes, bool has_start, uint64_t start_bytes);

}  // namespace memstrata::xla
