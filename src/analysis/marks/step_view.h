#pragma once
// One step of a heap, as the marks look at it.

#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct StepView {
  uint32_t step = kNone;
  StepSpan span;
  uint32_t forward_begin = kNone;  // first event of forward or loss; kNone: none
  uint32_t forward_end = kNone;    // one after the last before the backward
  uint32_t backward_begin = kNone;
  uint32_t backward_end = kNone;
  uint32_t optimizer_begin = kNone;
  uint32_t optimizer_end = kNone;
  std::vector<uint32_t> made;  // allocation rows made in the step, in order
  // Where zero_grad comes after a backward and before another forward: an optimizer that calls a closure several times.
  std::vector<uint32_t> repeat_begins;
  uint64_t logits_bytes = 0;  // size of the largest block of the logits; 0 = none is known

  bool HasBackward() const { return backward_begin != kNone && forward_begin != kNone; }
};

/// The complete step that shows most: the one of the peak if it is complete, else the last complete one, else the last;
/// kNone when there is none with a forward and a backward.
StepView FindRepresentativeStep(const HeapAnalysis& analysis);

/// The step of the peak as one forward, for a run without a backward; kNone when the peak lies outside all steps.
StepView FindStepOfInference(const HeapAnalysis& analysis);

/// Of rows with the given events, those of the first repeat of the step where each repeat has equally many of them;
/// else all.
std::vector<uint32_t> OfOneRepeat(const StepView& view, const std::vector<uint32_t>& rows,
                                  const Column<uint32_t>& seq_of_row);

}  // namespace memstrata
