#pragma once
// What each block is for: by what its stack names, by the phases that its life spans, and by sizes that match the
// parameters'. The reasons stand in docs/explanation/categories.md.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Index = row of the allocation table - heap.allocations.begin. cost: O(events + allocations log allocations)
std::vector<Category> Categorize(const Store& store, const Heap& heap, const Timeline& timeline);

}  // namespace memstrata
