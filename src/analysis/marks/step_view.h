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
  uint32_t update_in_backward_count = 0;  // updates between two parts of one backward
  uint64_t logits_bytes = 0;              // size of the largest block of the logits; 0 = none is known

  bool HasBackward() const { return backward_begin != kNone && forward_begin != kNone; }
};

/// The complete step that shows most: the one of the peak if it is complete, else the last complete one, else the last;
/// kNone when there is none with a forward and a backward.
StepView FindRepresentativeStep(const HeapAnalysis& analysis);

/// The step of the peak as one forward, for a run without a backward; kNone when the peak lies outside all steps.
StepView FindStepOfInference(const HeapAnalysis& analysis);

/// Of rows with the given events and sizes, those of one of each kind of repeat of the step: repeats with equally many
/// rows and as many bytes count once. Two models that are trained in turns are two kinds.
std::vector<uint32_t> OfOneRepeat(const StepView& view, const std::vector<uint32_t>& rows,
                                  const Column<uint32_t>& seq_of_row, const Column<uint64_t>& size_bytes_of_row);

}  // namespace memstrata
