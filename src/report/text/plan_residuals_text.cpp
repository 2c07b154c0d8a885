#include "report/text/plan_residuals_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr uint64_t kLeastForShare = uint64_t{1} << 20;

std::string OrUnknown(const std::optional<uint64_t>& bytes) { return bytes ? FormatBytes(*bytes) : "unknown"; }

std::string DifferenceText(const PlanResidual& residual) {
  const std::optional<int64_t> difference = residual.DifferenceBytes();
  if (!difference) return "";
  const std::string bytes = fmt::format("{}{}", *difference < 0 ? "-" : "+", FormatBytes(std::abs(*difference)));
  if (*residual.measured_bytes < kLeastForShare) return bytes;  // a share of next to nothing says nothing
  return fmt::format("{} ({:+.1f} %)", bytes,
                     100 * static_cast<double>(*difference) / static_cast<double>(*residual.measured_bytes));
}

}  // namespace

std::string PlanFromRecordingText(const PlanFromRecording& answer) {
  std::string text = fmt::format("\nBeside the recording {}, {} at its peak\n", answer.recording, answer.peak.heap);
  for (const auto& [input, value] : answer.filled) text += fmt::format("  from the recording: {} = {}\n", input, value);
  const auto is_filled = [&](const char* name) {
    return std::any_of(answer.filled.begin(), answer.filled.end(),
                       [&](const auto& input) { return input.first == name; });
  };
  if (is_filled("batch") && is_filled("sequence")) {
    text += fmt::format("  the scores of a step are of {} tokens; how they divide into samples is assumed\n",
                        answer.plan.workload.batch * answer.plan.workload.sequence);
  }
  for (const std::string& input : UntoldInputs(answer.plan.workload, answer.filled)) {
    text += fmt::format("  not told by a recording, and not given: {}; give --{} as the run had it\n", input, input);
  }
  if (!answer.peak.lower_bound_reason.empty())
    text += fmt::format("  measured is at least this: {}\n", answer.peak.lower_bound_reason);
  if (AreAtOtherMoments(answer.plan, answer.peak)) {
    text += fmt::format(
        "  the recorded peak is in the {}, the plan's in the {}: of what comes and goes only the phase's peak is "
        "compared\n",
        answer.peak.phase, answer.plan.WorstDevice().peak_phase);
  }
  text += fmt::format("  {:<19} {:>10} {:>10}  {}\n", "term", "planned", "measured", "difference");
  for (const PlanResidual& residual : FindResiduals(answer.plan, answer.peak)) {
    text += fmt::format("  {:<19} {:>10} {:>10}  {}\n", residual.term, OrUnknown(residual.planned_bytes),
                        OrUnknown(residual.measured_bytes), DifferenceText(residual));
  }
  return text;
}

}  // namespace memstrata
