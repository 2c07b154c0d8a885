#pragma once
// What is derived from one heap and kept: curves with their extremes, and the time axis. Built when first asked for;
// thread-safe.

#include "base/lazy.h"
#include "index/curve.h"
#include "index/extremes.h"
#include "index/time_axis.h"

namespace memstrata {

/// A curve with its extremes, which refer to it: it does not move.
struct IndexedCurve {
  explicit IndexedCurve(Curve built) : curve(std::move(built)), extremes(curve.after_bytes.span()) {}
  IndexedCurve(const IndexedCurve&) = delete;
  IndexedCurve& operator=(const IndexedCurve&) = delete;

  Curve curve;
  RangeExtremes extremes;
};

/// As FindPeak() of its curve. cost: O(log events)
Peak PeakOf(const IndexedCurve& indexed);

class HeapIndex {
 public:
  HeapIndex(const Store& store, const Heap& heap) : store_(store), heap_(heap) {}

  const Store& store() const { return store_; }
  const Heap& heap() const { return heap_; }
  /// One more than the last position on the axis: a heap without events has one state, at 0.
  uint32_t range_end() const { return heap_.events.size() == 0 ? 1 : heap_.events.size(); }
  Moment MomentAt(uint32_t seq) const { return heap_.events.size() == 0 ? Moment{0} : Moment::AfterEvent(seq); }

  const IndexedCurve& Live() {
    return live_.Get([&] { return BuildCurve(store_, heap_, Measure::kRequested); });
  }
  /// Only with has_block_bytes.
  const IndexedCurve& Block() {
    return block_.Get([&] { return BuildCurve(store_, heap_, Measure::kBlock); });
  }
  /// Stack reservation and heap together; only for heaps with XPlane details.
  const IndexedCurve& Used();
  /// Only with has_segments.
  const IndexedCurve& Reserved() {
    return reserved_.Get([&] { return BuildCurve(store_, heap_, Measure::kReserved); });
  }
  /// Live bytes that were given back and wait for another stream (BuildPendingCurve); null where none ever do.
  const IndexedCurve* Pending();
  const TimeAxis& Time() {
    return time_.Get([&] { return TimeAxis(store_, heap_); });
  }
  /// Positions of the out-of-memory events.
  const std::vector<uint32_t>& OutOfMemory();
  const Peak& LivePeak() {
    return live_peak_.Get([&] { return PeakOf(Live()); });
  }

 private:
  const Store& store_;
  const Heap& heap_;
  Lazy<IndexedCurve> live_;
  Lazy<IndexedCurve> block_;
  Lazy<IndexedCurve> used_;
  Lazy<IndexedCurve> reserved_;
  Lazy<bool> has_pending_;
  Lazy<IndexedCurve> pending_;
  Lazy<TimeAxis> time_;
  Lazy<Peak> live_peak_;
  Lazy<std::vector<uint32_t>> out_of_memory_;
};

}  // namespace memstrata
