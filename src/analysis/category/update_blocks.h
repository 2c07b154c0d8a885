#pragma once
// Blocks of updates that are not what blocks of an update usually are.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/timeline.h"
#include "model/store/store.h"

namespace memstrata {

/// An update may put a block of its own in the place of a parameter, which it gives back then: the block is a
/// parameter. categories: by allocation of the heap. cost: O(events)
void MarkReplacedParameters(const Store& store, const Heap& heap, const Timeline& timeline,
                            std::vector<Category>& categories);

/// Without stacks an update in the backward does not show. What a backward before the last step makes to stay, two or
/// more of each size for every parameter of that size, are states; gradients that are added to are one for each.
/// categories: by allocation of the heap. cost: O(allocations)
void MarkStatesOfBackward(const Store& store, const Heap& heap, const Timeline& timeline,
                          std::vector<Category>& categories);

}  // namespace memstrata
