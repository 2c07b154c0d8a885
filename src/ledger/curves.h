#pragma once
// What the device says and what the frameworks hold, on one axis of time.

#include <span>

#include "measure/peaks.h"

namespace memstrata::ledger {

struct CurvePoint {
  int64_t time_ns = 0;
  uint64_t used_bytes = 0;       // by all, as the vendor says
  uint64_t framework_bytes = 0;  // reserved by the recorded processes when they were last asked
};

/// The counters of a process on a device when it was last asked before `time_ns`; nothing before its first answer and
/// after its end.
std::optional<measure::AllocatorSample> AllocatorAt(const measure::FrameworkProcess& process, uint32_t framework_device,
                                                    int64_t time_ns);

/// The same, however long ago it was.
std::optional<measure::AllocatorSample> LastAnswer(const measure::FrameworkProcess& process, uint32_t framework_device,
                                                   int64_t time_ns);

/// At most `most_points`: of each part of the time, the point with the highest use. cost: O(samples)
std::vector<CurvePoint> DeviceCurve(const measure::MeasuredSession& session, uint32_t device, size_t most_points);

}  // namespace memstrata::ledger
