#include "analysis/growth/kept_evaluation_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/flat_map.h"
#include "base/units.h"

namespace memstrata {
namespace {

// Less of the peak is a loss or an output that is kept on purpose.
constexpr uint64_t kSmallestShare = 20;

bool IsLiveAtPeak(const HeapAnalysis& analysis, uint32_t row) {
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t peak = analysis.peak.moment.seq();
  return table.alloc_seq[row] <= peak &&
         (table.free_requested_seq[row] == kNone || table.free_requested_seq[row] > peak);
}

/// Blocks made in evaluations, by the span they were made in.
struct Evaluation {
  uint64_t made_count = 0;
  uint64_t kept_count = 0;  // live at the peak
};

// A forward with a graph keeps an input or output of most of its layers; without one it keeps what it returns.
bool KeepsGraph(const Evaluation& evaluation) {
  constexpr uint64_t kFewestBlocks = 3;
  constexpr uint64_t kLeastShare = 3;  // a third
  return evaluation.kept_count >= kFewestBlocks && evaluation.kept_count * kLeastShare >= evaluation.made_count;
}

// Index of the evaluation of each event; kNone outside of them.
std::vector<uint32_t> EvaluationOfEvent(const Timeline& timeline) {
  std::vector<uint32_t> evaluation_of_event(timeline.phase_of_event.size(), kNone);
  uint32_t index = 0;
  for (const PhaseSpan& span : timeline.phases) {
    if (span.phase != Phase::kEval) continue;
    std::fill(evaluation_of_event.begin() + span.begin_seq, evaluation_of_event.begin() + span.end_seq, index++);
  }
  return evaluation_of_event;
}

// Whether a forward with a backward makes blocks by the very same calls: then the backward was left out.
bool IsCallOfTraining(const HeapAnalysis& analysis, StackId stack) {
  const AllocationTable& table = analysis.store->allocations;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t seq = table.alloc_seq[row];
    if (seq != kNone && table.stack[row] == stack && IsForward(analysis.timeline.phase_of_event[seq])) return true;
  }
  return false;
}

// Kept once, by a forward that failed: growth tells of it.
bool IsToldByGrowth(const HeapAnalysis& analysis, const std::vector<uint32_t>& rows, uint64_t bytes) {
  const Growth& growth = analysis.growth;
  if (growth.kind != GrowthKind::kOneOff || static_cast<uint64_t>(*growth.bytes_per_step) < bytes) return false;
  return std::all_of(rows.begin(), rows.end(), [&](uint32_t row) {
    const uint32_t step = analysis.timeline.step_of_event[analysis.store->allocations.alloc_seq[row]];
    return step != kNone && step >= *growth.begin_step && step <= growth.last_rising_step;
  });
}

}  // namespace

std::vector<Finding> ReportKeptEvaluation(const HeapAnalysis& analysis) {
  if (analysis.peak.moment.seq() == kNone || !analysis.timeline.Has(Phase::kEval)) return {};
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<uint32_t> evaluation_of_event = EvaluationOfEvent(analysis.timeline);
  std::vector<Evaluation> evaluations(analysis.timeline.phases.size());
  std::vector<uint32_t> kept_rows;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t seq = table.alloc_seq[row];
    if (seq == kNone || evaluation_of_event[seq] == kNone) continue;
    Evaluation& evaluation = evaluations[evaluation_of_event[seq]];
    ++evaluation.made_count;
    if (analysis.CategoryOf(row) != Category::kActivation || !IsLiveAtPeak(analysis, row)) continue;
    ++evaluation.kept_count;
    kept_rows.push_back(row);
  }
  uint64_t kept_bytes = 0;
  FlatMap<uint32_t, uint64_t> by_stack;
  StackId largest{0};
  for (const uint32_t row : kept_rows) {
    if (!KeepsGraph(evaluations[evaluation_of_event[table.alloc_seq[row]]])) continue;
    kept_bytes += table.size_bytes[row];
    const uint64_t of_stack = by_stack[table.stack[row].value] += table.size_bytes[row];
    if (of_stack > by_stack[largest.value]) largest = table.stack[row];
  }
  if (kept_bytes * kSmallestShare < analysis.peak.bytes || kept_bytes == 0) return {};
  if (IsToldByGrowth(analysis, kept_rows, kept_bytes)) return {};
  Finding finding;
  finding.id = "kept_evaluation";
  finding.severity = FindingSeverity::kWarning;
  const std::string caller = largest.value == 0 ? "" : ModelCallerName(*analysis.store, largest);
  const bool is_left_out = largest.value != 0 && IsCallOfTraining(analysis, largest);
  finding.text = fmt::format("Forwards that no backward follows hold {} of activations at the peak{}: {}.",
                             FormatBytes(kept_bytes), caller.empty() ? "" : fmt::format(", called from {}", caller),
                             is_left_out ? "training calls them just so, but their backward was left out"
                                         : "they are kept for a backward that does not come");
  finding.bytes = kept_bytes;
  const std::string_view no_graph =
      "Run them under torch.no_grad() or torch.inference_mode(), and keep detached results.";
  const std::string_view let_go =
      "Let go of the loss, or of the exception, that such a step leaves: its graph goes with it.";
  finding.remedy = is_left_out ? let_go : no_graph;
  finding.evidence.begin_seq = analysis.peak.moment.seq();
  finding.evidence.stack = largest;
  return {finding};
}

}  // namespace memstrata
