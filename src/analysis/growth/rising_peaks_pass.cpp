#include "analysis/growth/rising_peaks_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/growth/growth.h"
#include "base/units.h"

namespace memstrata {
namespace {

// The first step makes states and fills caches; fewer steps after it show no trend.
constexpr size_t kFirstSteadyStep = 1;
constexpr size_t kFewestSteps = 4;
constexpr size_t kMostlyRise = 8;    // of ten steps
constexpr double kLeastRise = 1.15;  // of the last peak over the first

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
  std::vector<uint64_t> peaks;
  for (size_t step = kFirstSteadyStep; step < steps.size(); ++step) {
    if (!steps[step].is_complete) continue;
    peaks.push_back(analysis.HighestIn(steps[step].begin_seq, steps[step].end_seq).bytes);
  }
  size_t rise_count = 0;
  for (size_t i = 1; i < peaks.size(); ++i) rise_count += peaks[i] >= peaks[i - 1] ? 1 : 0;
  const bool rises = peaks.size() >= kFewestSteps && rise_count * 10 >= (peaks.size() - 1) * kMostlyRise &&
                     static_cast<double>(peaks.back()) > kLeastRise * static_cast<double>(peaks.front());
  if (!rises) return {};
  Finding finding;
  finding.id = "rising_peaks";
  finding.text = fmt::format(
      "The peaks of the steps rise from {} to {} though nothing stays behind: the tensors of a step get larger.",
      FormatBytes(peaks.front()), FormatBytes(peaks.back()));
  finding.bytes = peaks.back() - peaks.front();
  finding.remedy = "A limit on the length of the inputs, or inputs sorted into few lengths, bounds the peak.";
  finding.evidence.begin_seq = steps[kFirstSteadyStep].begin_seq;
  finding.evidence.end_seq = steps.back().end_seq;
  return {finding};
}

}  // namespace memstrata
