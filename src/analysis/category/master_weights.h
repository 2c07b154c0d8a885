#pragma once
// Mixed precision with master weights: the model computes in 16 bits, the optimizer updates copies in float32.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/timeline.h"
#include "model/store/store.h"

namespace memstrata {

/// Names the master weights as parameters (the optimizer updates them) and what is made of their sizes between a
/// backward and its update as gradients. Masters are twice as large as the parameters, in the parameters' order, live
/// through all steps and have states of their own sizes. categories: by allocation of the heap.
/// cost: O(allocations)
void MarkMasterWeights(const Store& store, const Heap& heap, const Timeline& timeline,
                       std::vector<Category>& categories);

}  // namespace memstrata
