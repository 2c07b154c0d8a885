#include "ledger/moment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"

namespace memstrata::ledger {
namespace {

using measure::DeviceSample;
using measure::HostSample;
using measure::MeasuredSession;

// When something of the run still held memory for the last time: a framework's last answer, else the last sample that
// met a process.
int64_t EndNs(const MeasuredSession& session) {
  int64_t end_ns = INT64_MIN;
  for (const measure::FrameworkProcess& process : session.processes) {
    if (!process.samples.empty()) end_ns = std::max(end_ns, process.samples.back().time_ns);
  }
  if (end_ns != INT64_MIN) return end_ns;
  for (const HostSample& sample : session.host_samples) {
    if (sample.process_count > 0) end_ns = sample.time_ns;
  }
  return end_ns;
}

int64_t LimitNs(const MeasuredSession& session, When when) {
  return when.kind == When::Kind::kTime ? when.time_ns : EndNs(session);
}

// How many frameworks answered before and after: most is known where most of them did.
size_t AnsweringCount(const MeasuredSession& session, int64_t time_ns) {
  return static_cast<size_t>(
      std::count_if(session.processes.begin(), session.processes.end(), [time_ns](const auto& process) {
        return !process.samples.empty() && process.samples.front().time_ns <= time_ns &&
               time_ns <= process.samples.back().time_ns;
      }));
}

template <class Sample, class Bytes>
const Sample* Choose(const MeasuredSession& session, const std::vector<Sample>& samples, When when,
                     const Bytes& bytes) {
  const int64_t limit_ns = LimitNs(session, when);
  const Sample* chosen = nullptr;
  std::pair<uint64_t, size_t> highest;
  for (const Sample& sample : samples) {
    const std::optional<uint64_t> value = bytes(sample);
    if (!value) continue;
    if (when.kind == When::Kind::kPeak) {
      if (chosen != nullptr && *value < highest.first) continue;
      // Of equal ones the last at which most frameworks still answered.
      const std::pair rank(*value, AnsweringCount(session, sample.time_ns));
      if (chosen == nullptr || rank > highest || (rank == highest && sample.time_ns <= limit_ns)) {
        chosen = &sample;
        highest = rank;
      }
    } else if (chosen == nullptr || sample.time_ns <= limit_ns) {
      chosen = &sample;
    }
  }
  return chosen;
}

bool IsSplit(const HostSample& sample) { return sample.process_count > 0 && sample.held_bytes.has_value(); }

}  // namespace

Result<When> ParseWhen(const MeasuredSession& session, const std::string& at) {
  if (at == "peak") return When{When::Kind::kPeak, 0};
  if (at == "end") return When{When::Kind::kEnd, 0};
  constexpr double kLongestNs = 1e18;  // 31 years
  const std::optional<double> duration_ns = ParseDuration(at);
  if (!duration_ns || !(*duration_ns >= 0) || *duration_ns > kLongestNs) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no moment; give peak, end, or a time after the first sample such as 1.5s.", at));
  }
  const int64_t begin_ns = session.host_samples.empty() ? 0 : session.host_samples.front().time_ns;
  return When{When::Kind::kTime, begin_ns + static_cast<int64_t>(*duration_ns)};
}

const DeviceSample* FindDeviceSample(const MeasuredSession& session, uint32_t device, When when) {
  return Choose(session, session.device_samples, when, [device](const DeviceSample& sample) {
    return sample.device == device ? std::optional<uint64_t>(sample.used_bytes) : std::nullopt;
  });
}

const HostSample* FindHostSample(const MeasuredSession& session, When when) {
  // Of the peak those count that say what is shared, where there are any: the others cannot be split up.
  const bool only_split =
      when.kind == When::Kind::kPeak && std::any_of(session.host_samples.begin(), session.host_samples.end(),
                                                    [](const HostSample& sample) { return IsSplit(sample); });
  return Choose(session, session.host_samples, when, [only_split](const HostSample& sample) {
    return only_split && !IsSplit(sample) ? std::nullopt : std::optional<uint64_t>(sample.SureBytes());
  });
}

}  // namespace memstrata::ledger
