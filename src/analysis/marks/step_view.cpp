#include "analysis/marks/step_view.h"

#include <algorithm>

namespace memstrata {
namespace {

bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }
bool IsBackward(Phase phase) { return phase == Phase::kBackward || phase == Phase::kRecompute; }

void AddPhases(const HeapAnalysis& analysis, StepView& view) {
  bool updated = false;  // the update of the step is over
  for (const PhaseSpan& span : analysis.timeline.phases) {
    if (span.step != view.step) continue;
    const auto extend = [&](uint32_t& begin, uint32_t& end) {
      begin = std::min(begin, span.begin_seq);
      end = end == kNone ? span.end_seq : std::max(end, span.end_seq);
    };
    if (IsForward(span.phase) && view.backward_begin == kNone) extend(view.forward_begin, view.forward_end);
    if (IsBackward(span.phase)) extend(view.backward_begin, view.backward_end);
    const bool is_update = span.phase == Phase::kOptimizer && view.backward_begin != kNone;
    if (is_update && !updated) extend(view.optimizer_begin, view.optimizer_end);
    updated = updated || (view.optimizer_begin != kNone && (span.phase == Phase::kEval || IsForward(span.phase)));
  }
}

// The largest block of the loss, or else of the last tenth of the forward: as many numbers as tokens times vocabulary.
// A backward of the loss makes at least one more of that size at once.
void FindLogits(const HeapAnalysis& analysis, StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t late = view.forward_end - (view.forward_end - view.forward_begin) / 10;
  const uint32_t early = view.backward_begin + (view.backward_end - view.backward_begin) / 20 + 8;
  uint64_t largest = 0;
  for (const uint32_t row : view.made) {
    const uint32_t seq = table.alloc_seq[row];
    const bool is_loss =
        analysis.timeline.phase_of_event[seq] == Phase::kLoss || (seq >= late && seq < view.forward_end);
    if (is_loss && seq < view.backward_begin) largest = std::max(largest, table.size_bytes[row]);
  }
  constexpr uint64_t kSmallest = 1 << 20;
  const bool comes_back = std::any_of(view.made.begin(), view.made.end(), [&](uint32_t row) {
    const uint32_t seq = table.alloc_seq[row];
    return seq >= view.backward_begin && seq < early && table.size_bytes[row] == largest;
  });
  const bool is_of_layers = std::any_of(view.made.begin(), view.made.end(), [&](uint32_t row) {
    const uint32_t seq = table.alloc_seq[row];
    return seq >= view.forward_begin && seq < late && table.size_bytes[row] == largest &&
           analysis.timeline.phase_of_event[seq] == Phase::kForward;
  });
  if (largest >= kSmallest && comes_back && !is_of_layers) view.logits_bytes = largest;
}

}  // namespace

StepView FindRepresentativeStep(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const uint32_t seq = analysis.peak.moment.seq();
  const uint32_t peak_step = seq == kNone ? kNone : analysis.timeline.step_of_event[seq];
  std::vector<uint32_t> candidates;
  if (peak_step != kNone && steps[peak_step].is_complete) candidates.push_back(peak_step);
  for (uint32_t step = static_cast<uint32_t>(steps.size()); step-- > 0;) candidates.push_back(step);
  for (const uint32_t step : candidates) {
    StepView view;
    view.step = step;
    view.span = steps[step];
    AddPhases(analysis, view);
    if (!view.HasBackward()) continue;
    const AllocationTable& table = analysis.store->allocations;
    for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
      if (table.alloc_seq[row] != kNone && table.alloc_seq[row] >= view.span.begin_seq &&
          table.alloc_seq[row] < view.span.end_seq)
        view.made.push_back(row);
    }
    FindLogits(analysis, view);
    return view;
  }
  return {};
}

}  // namespace memstrata
