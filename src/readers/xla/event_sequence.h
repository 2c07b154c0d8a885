#pragma once
// Brings the events of one heap into the order that happened, gives frees without a size that of their block, and
// checks the recording against itself: the size of an event must be the change of the heap.

#include <cstdint>
#include <span>

#include "readers/xla/memory_events.h"

namespace memstrata::xla {

struct HeapFigures {
  uint64_t preexisting_bytes = 0;           // heap before the first event
  uint64_t capacity_bytes = kUnknownBytes;  // stack + heap + free at the highest stack + heap
  uint64_t window_peak_bytes = 0;           // highest heap seen
  uint64_t lifetime_peak_bytes = 0;         // highest heap that the allocator reports
  uint64_t jump_count = 0;                  // the heap changed by another amount than the event's size
};

/// Sorts `rows` by time, equal times as their heap values follow from each other. Sets the size of frees that carry
/// none (TPU) in `events` and marks them kBlindSize. Cost: O(n log r), r threads; with such frees one hash look-up an
/// event.
HeapFigures SequenceEvents(std::span<uint32_t> rows, DecodedEvents& events);

}  // namespace memstrata::xla
