#pragma once
// Which blocks of the program's own making are parameters, because they get gradients.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// A step makes gradients of a size that no parameter has, and the optimizer has states of it: blocks of unknown kind
/// of that size, made before the first step and there in the last one, are their parameters, the first ones if there
/// are more. Loading code that no rule knows makes such (casts of adapters, parameters assigned by hand). cost:
/// O(allocations)
void MarkTrainedParameters(const Store& store, const Heap& heap, const Timeline& timeline,
                           std::vector<Category>& categories);

}  // namespace memstrata
