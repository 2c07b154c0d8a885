#pragma once
// Forwards that no backward follows: evaluation, and the prefill and decode of a generation.

#include "analysis/phases/label_by_stack.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Turns forwards without a backward, and the inputs and frees between them, into evaluation.
void MarkEvaluation(const Store& store, const Heap& heap, StackLabels& labels);

/// Turns steps of evaluation into prefill and decode when what they leave behind grows from step to step: a cache of
/// keys and values. The first step is the prefill.
void MarkGeneration(const Store& store, const Heap& heap, Timeline& timeline);

}  // namespace memstrata
