#pragma once
// Gradients that a loss is computed from, as a penalty on their norm: torch.autograd.grad(..., create_graph=True) runs
// the engine before the backward of the step does.

#include "analysis/phases/label_by_stack.h"
#include "model/store/store.h"

namespace memstrata {

/// A call of torch.autograd.grad becomes a part of the loss where the next backward gives back what it made, before any
/// update. cost: O(events + stack nodes)
void MarkInnerGradients(const Store& store, const Heap& heap, StackLabels& labels);

}  // namespace memstrata
