#pragma once
// Sizes of the parameters of a model, which tell its states, copies and layers.

#include <span>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "base/flat_map.h"
#include "model/store/store.h"

namespace memstrata {

/// How many parameters have each size. categories: by allocation of the heap. cost: O(allocations)
FlatMap<uint64_t, uint32_t> CountParameterSizes(const Store& store, const Heap& heap,
                                                std::span<const Category> categories);

/// The most blocks of each size and of `category` that one step makes: of gradients, one for each parameter that is
/// trained. Of temporaries, those of updates alone count. cost: O(allocations)
FlatMap<uint64_t, uint32_t> CountSizesInStep(const Store& store, const Heap& heap, const Timeline& timeline,
                                             std::span<const Category> categories, Category category);

}  // namespace memstrata
