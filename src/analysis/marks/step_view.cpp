#include "analysis/marks/step_view.h"

#include <algorithm>

namespace memstrata {
namespace {

void AddPhases(const HeapAnalysis& analysis, StepView& view) {
  bool updated = false;  // the update of the step is over
  bool had_backward = false;
  uint32_t anew = kNone;  // the zero_grad after the last backward
  bool update_after_backward = false;
  for (const PhaseSpan& span : analysis.timeline.phases) {
    if (span.step != view.step) continue;
    const auto extend = [&](uint32_t& begin, uint32_t& end) {
      begin = std::min(begin, span.begin_seq);
      end = end == kNone ? span.end_seq : std::max(end, span.end_seq);
    };
    if (IsForward(span.phase) && anew != kNone) {
      view.repeat_begins.push_back(anew);
      had_backward = false;
      anew = kNone;
    }
    had_backward = had_backward || IsBackward(span.phase);
    if (IsBackward(span.phase)) view.update_in_backward_count += update_after_backward ? 1 : 0;
    const bool is_of_update = span.phase == Phase::kOptimizer || span.phase == Phase::kZeroGrad;
    update_after_backward = is_of_update && had_backward && (update_after_backward || span.phase == Phase::kOptimizer);
    if (span.phase == Phase::kZeroGrad && had_backward && anew == kNone) anew = span.begin_seq;
    if (IsForward(span.phase) && view.backward_begin == kNone) extend(view.forward_begin, view.forward_end);
    if (IsBackward(span.phase)) extend(view.backward_begin, view.backward_end);
    const bool is_update = span.phase == Phase::kOptimizer && view.backward_begin != kNone;
    if (is_update && !updated) extend(view.optimizer_begin, view.optimizer_end);
    updated = updated || (view.optimizer_begin != kNone && IsForwardOrEval(span.phase));
  }
}

void FindLogits(const HeapAnalysis& analysis, StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  for (const uint32_t row : view.made) {
    if (analysis.CategoryOf(row) == Category::kLogits && table.alloc_seq[row] < view.backward_begin)
      view.logits_bytes = std::max(view.logits_bytes, table.size_bytes[row]);
  }
}

void CollectMade(const HeapAnalysis& analysis, StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t seq = table.alloc_seq[row];
    if (seq != kNone && seq >= view.span.begin_seq && seq < view.span.end_seq) view.made.push_back(row);
  }
}

}  // namespace

StepView FindRepresentativeStep(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const uint32_t seq = analysis.peak.moment.seq();
  const uint32_t peak_step = seq == kNone ? kNone : analysis.timeline.step_of_event[seq];
  std::vector<uint32_t> candidates;
  if (peak_step != kNone && steps[peak_step].is_complete) candidates.push_back(peak_step);
  for (const bool is_complete : {true, false}) {
    for (uint32_t step = static_cast<uint32_t>(steps.size()); step-- > 0;) {
      if (steps[step].is_complete == is_complete) candidates.push_back(step);
    }
  }
  for (const uint32_t step : candidates) {
    StepView view;
    view.step = step;
    view.span = steps[step];
    AddPhases(analysis, view);
    if (!view.HasBackward()) continue;
    CollectMade(analysis, view);
    FindLogits(analysis, view);
    return view;
  }
  return {};
}

StepView FindStepOfInference(const HeapAnalysis& analysis) {
  StepView view;
  const uint32_t seq = analysis.peak.moment.seq();
  if (seq == kNone || analysis.timeline.step_of_event[seq] == kNone) return view;
  view.step = analysis.timeline.step_of_event[seq];
  view.span = analysis.timeline.steps[view.step];
  view.forward_begin = view.span.begin_seq;
  view.forward_end = view.span.end_seq;
  CollectMade(analysis, view);
  return view;
}

std::vector<uint32_t> OfOneRepeat(const StepView& view, const std::vector<uint32_t>& rows,
                                  const Column<uint32_t>& seq_of_row, const Column<uint64_t>& size_bytes_of_row) {
  if (view.repeat_begins.empty()) return rows;
  std::vector<std::vector<uint32_t>> repeats(view.repeat_begins.size() + 1);
  std::vector<uint64_t> bytes(repeats.size(), 0);
  for (const uint32_t row : rows) {
    const auto after = std::upper_bound(view.repeat_begins.begin(), view.repeat_begins.end(), seq_of_row[row]);
    const auto repeat = static_cast<size_t>(after - view.repeat_begins.begin());
    repeats[repeat].push_back(row);
    bytes[repeat] += size_bytes_of_row[row];
  }
  std::vector<uint32_t> distinct;
  for (size_t repeat = 0; repeat < repeats.size(); ++repeat) {
    size_t like = 0;
    while (repeats[like].size() != repeats[repeat].size() || bytes[like] != bytes[repeat]) ++like;
    if (like == repeat) distinct.insert(distinct.end(), repeats[repeat].begin(), repeats[repeat].end());
  }
  return distinct;
}

}  // namespace memstrata
