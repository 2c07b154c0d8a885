#pragma once
// Updates of the weights by an optimizer that no call stack names: one of the program's own.

#include <vector>

#include "analysis/phases/label_by_stack.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Where stacks name no update, or no zero_grad, at all, plain work of the program after a backward takes the phase
/// that order and sizes show: it makes blocks of the sizes of the gradients, or gives the gradients back in a row. Work
/// that a stack names keeps its phase. cost: O(events)
void NameOwnUpdates(const Store& store, const Heap& heap, StackLabels& labels);

}  // namespace memstrata
