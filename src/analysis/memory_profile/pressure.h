#pragma once
// What fills a heap of an XPlane profile at one event, and where the room is: for answering "why did the next request
// not fit".

#include <cstdint>
#include <optional>
#include <vector>

#include "model/store/store.h"

namespace memstrata {

struct HeapPressure {
  std::vector<uint32_t> largest;  // recorded blocks (→ AllocationTable), the largest first; three at most
  uint64_t largest_bytes = 0;     // Σ of them
  uint64_t rounding_bytes = 0;    // Σ (block - requested) of recorded blocks: padding of the allocator
  uint64_t temporary_bytes = 0;   // Σ recorded blocks whose region is "temp"
  uint64_t temporary_count = 0;   // how many
  /// Largest gap between neighbouring live blocks, by their addresses, between the lowest and the highest address that
  /// any event names. Nothing when no block has one.
  std::optional<uint64_t> largest_hole_bytes;
  /// Bytes that are live without an address. They may lie in the hole: it is an upper bound then.
  uint64_t unplaced_bytes = 0;
};

/// `heap` must have XPlane details, `row` is one of its events. Cost: O(n log n).
HeapPressure PressureAt(const Store& store, const Heap& heap, uint32_t row);

}  // namespace memstrata
