#pragma once
// A point in the life of a heap: how many of its events have happened. 0 is before the first event; the state "at
// event 7" is after eight.

#include "model/store/tables.h"

namespace memstrata {

struct Moment {
  uint32_t event_count = 0;

  static Moment AfterEvent(uint32_t seq) { return {seq + 1}; }
  static Moment End(const Heap& heap) { return {heap.events.size()}; }
  /// The last event that has happened, kNone before the first.
  uint32_t seq() const { return event_count == 0 ? kNone : event_count - 1; }
  bool operator==(const Moment&) const = default;
};

/// Whether a row of the allocation table is live at a moment (pending blocks are).
inline bool IsLive(const AllocationTable& table, uint32_t row, Moment at) {
  const uint32_t begin = table.alloc_seq[row];
  return (begin == kNone || begin < at.event_count) && table.free_seq[row] >= at.event_count;  // kNone: never freed
}

/// Whether it was given back by the program but is not free yet.
inline bool IsPending(const AllocationTable& table, uint32_t row, Moment at) {
  return IsLive(table, row, at) && table.free_requested_seq[row] < at.event_count;
}

}  // namespace memstrata
