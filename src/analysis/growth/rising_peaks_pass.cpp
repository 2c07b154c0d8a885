#include "analysis/growth/rising_peaks_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/growth/growth.h"
#include "analysis/growth/step_levels.h"
#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kFewestSteps = 4;   // after the first; fewer show no trend
constexpr size_t kMostlyRise = 8;    // of ten steps
constexpr double kLeastRise = 1.15;  // of the last over the first

// Up to the end: values that level off after a few steps have only warmed up.
bool Rise(const std::vector<uint64_t>& values) {
  size_t no_fall_count = 0;
  for (size_t i = 1; i < values.size(); ++i) no_fall_count += values[i] >= values[i - 1] ? 1 : 0;
  const auto first = static_cast<double>(values.front());
  const auto middle = static_cast<double>(values[values.size() / 2]);
  const auto last = static_cast<double>(values.back());
  return no_fall_count * 10 >= (values.size() - 1) * kMostlyRise && last > kLeastRise * first &&
         (last - middle) * 4 >= last - first;
}

}  // namespace

std::vector<Finding> ReportRisingPeaks(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  if (steps.size() < kFirstSteadyStep + kFewestSteps || !analysis.timeline.Has(Phase::kBackward)) return {};
  const Growth& growth = analysis.growth;
  if (growth.kind != GrowthKind::kNoGrowth && growth.kind != GrowthKind::kFragmentation) return {};
  // A peak in an evaluation is none of a training step.
  if (analysis.peak.moment.seq() != kNone &&
      analysis.timeline.phase_of_event[analysis.peak.moment.seq()] == Phase::kEval)
    return {};
  const std::vector<uint64_t> all_forward_bytes = FindForwardBytes(analysis);
  std::vector<uint64_t> peaks;
  std::vector<uint64_t> forward_bytes;
  for (size_t step = kFirstSteadyStep; step < steps.size(); ++step) {
    if (!steps[step].is_complete) continue;
    peaks.push_back(analysis.HighestIn(steps[step].begin_seq, steps[step].end_seq).bytes);
    forward_bytes.push_back(all_forward_bytes[step]);
  }
  if (peaks.size() < kFewestSteps || !Rise(peaks) || !Rise(forward_bytes)) return {};
  Finding finding;
  finding.id = "rising_peaks";
  finding.text = fmt::format(
      "The peaks of the steps rise from {} to {} though nothing stays behind: the tensors of a step get larger.",
      FormatBytes(peaks.front()), FormatBytes(peaks.back()));
  finding.bytes = peaks.back() - peaks.front();
  finding.remedy = "Where it is the inputs that get longer, a limit on their length bounds the peak.";
  finding.evidence.begin_seq = steps[kFirstSteadyStep].begin_seq;
  finding.evidence.end_seq = steps.back().end_seq;
  return {finding};
}

}  // namespace memstrata
