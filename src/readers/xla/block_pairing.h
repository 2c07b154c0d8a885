#pragma once
// Pairs the allocations and frees of one heap by address, in true order, and finds that order among equal times.

#include <cstdint>
#include <span>

#include "model/store/tables.h"
#include "readers/xla/memory_events.h"

namespace memstrata::xla {

/// What one pass over a heap's events finds besides the lifetimes.
struct HeapFigures {
  uint64_t preexisting_bytes = 0;   // heap before the first event
  uint64_t capacity_bytes = kUnknownBytes;  // stack + heap + free at the highest stack + heap
  uint64_t window_peak_bytes = 0;   // highest heap seen
  uint64_t lifetime_peak_bytes = 0;
  uint64_t jump_count = 0;          // the heap changed by another amount than the event's size
  uint64_t displaced_count = 0;     // allocations at a live address
  uint64_t unmatched_free_count = 0;
};

/// Reorders equal times in `rows` (already by time), fills in the sizes of frees that carry none (marking them
/// kBlindSize), appends the lifetimes to `allocations` and, for each event in order, its row there to
/// `event_allocations`. What lived before the first event and is not freed one by one is one row without an address
/// (addr kUnknownBytes).
HeapFigures PairBlocks(std::span<uint32_t> rows, DecodedEvents& events, AllocationTable& allocations,
                       Column<uint32_t>& event_allocations);

}  // namespace memstrata::xla
