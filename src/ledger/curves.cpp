#include "ledger/curves.h"

#include <algorithm>

namespace memstrata::ledger {
namespace {

using measure::AllocatorSample;
using measure::FrameworkProcess;
using measure::MeasuredSession;

// A living process is asked twice a second; one that has not answered for longer has ended.
constexpr int64_t kSilenceNs = 1'500'000'000;

}  // namespace

std::optional<AllocatorSample> LastAnswer(const FrameworkProcess& process, uint32_t framework_device, int64_t time_ns) {
  std::optional<AllocatorSample> last;
  for (const AllocatorSample& sample : process.samples) {
    if (sample.time_ns > time_ns) break;
    if (sample.device == framework_device) last = sample;
  }
  return last;
}

std::optional<AllocatorSample> AllocatorAt(const FrameworkProcess& process, uint32_t framework_device,
                                           int64_t time_ns) {
  // On any device: a process that answers for one lives.
  const bool has_ended = process.samples.empty() || time_ns - process.samples.back().time_ns > kSilenceNs;
  return has_ended ? std::nullopt : LastAnswer(process, framework_device, time_ns);
}

std::vector<CurvePoint> DeviceCurve(const MeasuredSession& session, uint32_t device, size_t most_points) {
  struct Pool {
    const FrameworkProcess* process;
    uint32_t framework_device;
    size_t next = 0;  // in process->samples
    uint64_t reserved_bytes = 0;
    int64_t last_ns = 0;
  };
  std::vector<Pool> pools;
  for (const FrameworkProcess& process : session.processes) {
    for (const measure::FrameworkDevice& known : process.devices) {
      if (DeviceIndexOf(session, known) == device) pools.push_back({&process, known.device});
    }
  }
  std::vector<CurvePoint> points;
  for (const measure::DeviceSample& sample : session.device_samples) {
    if (sample.device != device) continue;
    CurvePoint point = {sample.time_ns, sample.used_bytes, 0};
    for (Pool& pool : pools) {
      const std::vector<AllocatorSample>& samples = pool.process->samples;
      for (; pool.next < samples.size() && samples[pool.next].time_ns <= sample.time_ns; ++pool.next) {
        pool.last_ns = samples[pool.next].time_ns;
        if (samples[pool.next].device == pool.framework_device) pool.reserved_bytes = samples[pool.next].reserved_bytes;
      }
      const bool has_ended = pool.next == samples.size() && sample.time_ns - pool.last_ns > kSilenceNs;
      if (!has_ended) point.framework_bytes += pool.reserved_bytes;
    }
    points.push_back(point);
  }
  if (points.size() <= most_points || most_points == 0) return points;
  std::vector<CurvePoint> reduced;
  for (size_t part = 0; part < most_points; ++part) {
    const auto begin = points.begin() + static_cast<ptrdiff_t>(part * points.size() / most_points);
    const auto end = points.begin() + static_cast<ptrdiff_t>((part + 1) * points.size() / most_points);
    reduced.push_back(*std::max_element(
        begin, end, [](const CurvePoint& a, const CurvePoint& b) { return a.used_bytes < b.used_bytes; }));
  }
  return reduced;
}

}  // namespace memstrata::ledger
