#pragma once
// One clock for samples and the events of frameworks: CLOCK_MONOTONIC, told as nanoseconds since the Unix epoch by the
// offset at the start. A wall clock that is set meanwhile moves no sample.

#include <cstdint>

namespace memstrata::measure {

int64_t MonotonicNs();
/// CPU time of the calling thread.
uint64_t ThreadCpuNs();

class Clock {
 public:
  Clock();
  int64_t NowNs() const { return MonotonicNs() + offset_ns_; }
  /// What the wall clock has gained on the monotonic one since this clock was made.
  int64_t DriftNs() const;

 private:
  int64_t offset_ns_;
};

}  // namespace memstrata::measure
