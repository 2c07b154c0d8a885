#pragma once
// Time as a monotone mapping over the sequence of a heap. Order is exact, time is not: where a recorded time lies
// before an earlier event's, the event counts at the earlier event's time.

#include <optional>

#include "base/column.h"
#include "model/store/store.h"

namespace memstrata {

class TimeAxis {
 public:
  /// cost: O(events) once
  TimeAxis(const Store& store, const Heap& heap);

  bool has_time() const { return !times_ns_.empty(); }
  /// Of the first event with a time, as recorded; kNoTime without times.
  int64_t begin_ns() const { return begin_ns_; }
  /// Nanoseconds after the first event; nothing without times. cost: O(1)
  std::optional<int64_t> OffsetAt(uint32_t seq) const;
  /// From the first to the last event.
  std::optional<int64_t> DurationNs() const;
  /// The first event at or after an offset, the number of events when there is none. cost: O(log n)
  uint32_t FirstAtOrAfter(double offset_ns) const;

 private:
  std::span<const int64_t> times_ns_;  // of the store, or repaired_ns_
  Column<int64_t> repaired_ns_;
  int64_t begin_ns_ = kNoTime;
};

}  // namespace memstrata
