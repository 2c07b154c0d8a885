#include "measure/gaps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata::measure {
namespace {

void AddOfProcess(const FrameworkProcess& process, std::vector<Gap>& gaps) {
  for (const Gap& gap : process.gaps) {
    Gap named = gap;
    named.what = fmt::format("{} ({})", gap.what, process.label);
    gaps.push_back(std::move(named));
  }
  if (!process.complete) {
    gaps.push_back({fmt::format("the end of {}", process.label),
                    "The process ended before it could write its end, as one does that is killed or crashes in native "
                    "code: its recording is the last that was saved, or none.",
                    "Use --save-every with a shorter time; a program that is to be ended hears SIGTERM."});
  }
  if (!process.forked_ids.empty()) {
    gaps.push_back(
        {fmt::format("allocations of {} of {}",
                     process.forked_ids.size() == 1 ? "1 forked child"
                                                    : FormatCount(process.forked_ids.size()) + " forked children",
                     process.label),
         "A child that is forked from a recorded process records nothing; its host memory is sampled.",
         "Start it by spawn."});
  }
}

// Samples come at a rate, so that something always lies between them.
Gap BlindSpot(const MeasuredSession& session) {
  constexpr double kNsPerSecond = 1e9;
  const auto interval_ns = static_cast<int64_t>(kNsPerSecond / session.sample_rate_hz);
  return {"device memory between samples",
          fmt::format("The device is asked every {}: what is taken and given back in between is not in its curve. "
                      "Allocations of a recorded framework are all there.",
                      FormatDuration(interval_ns)),
          "Raise --rate; no rate closes the gap."};
}

}  // namespace

std::vector<Gap> FindGaps(const MeasuredSession& session) {
  std::vector<Gap> gaps = session.gaps;
  if (!session.ended) {
    gaps.push_back({"the end of the run", "The recorder was killed, or its disk was full: later samples are missing.",
                    "Put the session where there is room."});
  }
  if (!session.device_samples.empty() && session.sample_rate_hz > 0) gaps.push_back(BlindSpot(session));
  for (size_t device = 0; device < session.devices.size(); ++device) {
    if (!session.devices[device].is_host_node) continue;
    gaps.push_back({fmt::format("the host without device {}", device),
                    "The memory of this device is a NUMA node of the host: the host's totals contain it, and so may "
                    "the resident memory of a process.",
                    "The device's own figures are whole."});
  }
  for (const FrameworkProcess& process : session.processes) AddOfProcess(process, gaps);
  if (session.processes.empty()) {
    gaps.push_back({"allocations of a framework",
                    "No process recorded itself: none used PyTorch, JAX or TensorFlow, or Python was started with -I, "
                    "-E or -S.",
                    "Start the program without these options."});
  }
  if (session.missed_samples > 0) {
    gaps.push_back({FormatCount(session.missed_samples, "sample"), "They came due while an earlier one still ran.",
                    "Lower --rate."});
  }
  if (session.bad_line_count > 0) {
    gaps.push_back({FormatCount(session.bad_line_count, "line") + " of the session",
                    "They cannot be read: cut off when a process was killed, or changed afterwards.", ""});
  }
  return gaps;
}

}  // namespace memstrata::measure
