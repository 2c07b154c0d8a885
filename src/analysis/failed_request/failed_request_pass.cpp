#include "analysis/failed_request/failed_request_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/growth/kept_evaluation_pass.h"
#include "analysis/oom/snapshot_oom.h"
#include "base/units.h"

namespace memstrata {
namespace {

// The last failure ends the run; earlier ones were survived.
uint32_t LastFailure(const HeapAnalysis& analysis, uint32_t& failure_count) {
  const EventTable& events = analysis.store->events;
  uint32_t last = kNone;
  for (uint32_t seq = 0; seq < analysis.heap->events.size(); ++seq) {
    if (events.kind[analysis.heap->events.begin + seq] != EventKind::kOutOfMemory) continue;
    ++failure_count;
    last = seq;
  }
  return last;
}

// Steps that begin after an event: the program caught the failure and went on.
size_t StepsAfter(const HeapAnalysis& analysis, uint32_t seq) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  return static_cast<size_t>(
      std::count_if(steps.begin(), steps.end(), [&](const StepSpan& step) { return step.begin_seq > seq; }));
}

std::string WhereIs(const HeapAnalysis& analysis, uint32_t seq) {
  const Phase phase = analysis.timeline.phase_of_event[seq];
  const uint32_t step = analysis.timeline.step_of_event[seq];
  std::string where = phase == Phase::kOther ? "" : fmt::format(" in {}", kPhaseNames[static_cast<size_t>(phase)]);
  if (step != kNone) where += fmt::format("{} step {}", where.empty() ? " in" : " of", step);
  return where;
}

/// Live bytes of the category that holds most.
struct HeldMost {
  Category category = Category::kUnknown;
  uint64_t bytes = 0;
};

HeldMost LargestHolder(const HeapAnalysis& analysis, Moment moment) {
  std::array<uint64_t, std::size(kCategoryNames)> held = {};
  const AllocationTable& table = analysis.store->allocations;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (IsLive(table, row, moment)) held[static_cast<size_t>(analysis.CategoryOf(row))] += table.size_bytes[row];
  }
  const auto most = std::max_element(held.begin(), held.end());
  return {static_cast<Category>(most - held.begin()), *most};
}

// Then that is the cause, and a little more room only puts the failure off.
bool IsLeftBehind(const HeapAnalysis& analysis) {
  return analysis.growth.kind == GrowthKind::kLeak || !ReportKeptEvaluation(analysis).empty();
}

// What would have fitted: a setting of the allocator, by replay; else the smallest change.
std::string Remedy(const SnapshotOom& failure) {
  const std::span<const OomRemedy> all = failure.report.remedies;
  const auto first_fitting = [](std::span<const OomRemedy> remedies) -> const OomRemedy* {
    const auto found = std::find_if(remedies.begin(), remedies.end(),
                                    [](const OomRemedy& remedy) { return remedy.would_fit.value_or(false); });
    return found == remedies.end() ? nullptr : &*found;
  };
  const OomRemedy* best = first_fitting(all.subspan(failure.replay_begin));
  if (best == nullptr) best = first_fitting(all);
  return best == nullptr ? "" : fmt::format("This request fits with: {}", best->text);
}

}  // namespace

std::vector<Finding> ReportFailedRequest(const HeapAnalysis& analysis) {
  uint32_t failure_count = 0;
  const uint32_t seq = LastFailure(analysis, failure_count);
  if (seq == kNone) return {};
  const uint32_t row = analysis.heap->events.begin + seq;
  const EventTable& events = analysis.store->events;
  const HeldMost holder = LargestHolder(analysis, Moment{seq});
  Finding finding;
  finding.id = "out_of_memory";
  const size_t later_steps = StepsAfter(analysis, seq);
  finding.severity = later_steps == 0 ? FindingSeverity::kError : FindingSeverity::kWarning;
  finding.text = fmt::format("Out of memory: a request for {} failed{}, with {} live, {} of it {}.",
                             FormatBytes(events.size_bytes[row]), WhereIs(analysis, seq),
                             FormatBytes(analysis.live.At(Moment{seq})), FormatBytes(holder.bytes),
                             CategoryWords(holder.category));
  const bool is_left_behind = IsLeftBehind(analysis);
  const SnapshotOom failure =
      ExplainFailures(analysis, {&seq, 1}, is_left_behind ? OomReplays::kNoReplay : OomReplays::kUntilOneFits).front();
  if (failure.report.short_by_bytes)
    finding.text += fmt::format(" The device was short by {}.", FormatBytes(*failure.report.short_by_bytes));
  finding.text += " " + failure.cause;
  if (!is_left_behind) finding.remedy = Remedy(failure);
  if (later_steps > 0)
    finding.text +=
        fmt::format(" The program went on: {} after it.",
                    later_steps == 1 ? "1 step begins" : fmt::format("{} steps begin", FormatCount(later_steps)));
  if (failure_count > 1) finding.text += fmt::format(" It is the last of {} that failed.", failure_count);
  finding.bytes = events.size_bytes[row];
  finding.evidence = {seq, seq + 1, events.stack[row]};
  return {finding};
}

}  // namespace memstrata
