#pragma once
// Forwards that no backward follows: evaluation, and the prefill and decode of a generation.

#include "analysis/phases/label_by_stack.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Turns forwards without a backward, and the inputs and frees between them, into evaluation.
void MarkEvaluation(const Store& store, const Heap& heap, StackLabels& labels);

/// Inference: what the program does between two calls of the model in one step, as choosing the next token, belongs to
/// them. cost: O(events)
void JoinCallsOfSteps(Timeline& timeline);

/// Inference: turns steps of evaluation into prefill and decode when what they leave behind grows from step to step: a
/// cache of keys and values. The first step is the prefill.
void MarkGeneration(const Store& store, const Heap& heap, Timeline& timeline);

}  // namespace memstrata
