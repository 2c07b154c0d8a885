#pragma once
// Caches of keys and values that are made at once, for the longest text.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Marks runs of equal blocks as KV cache where no backward runs: two blocks a layer in a row, made by the program
/// itself before or between the calls of the model and live across them, of a model that has a parameter of some other
/// size for each of as many layers. cost: O(allocations)
void MarkStaticCaches(const Store& store, const Heap& heap, const Timeline& timeline,
                      std::vector<Category>& categories);

}  // namespace memstrata
