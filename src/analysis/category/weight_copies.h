#pragma once
// Which blocks are low-precision copies of weights that autocast makes and autograd keeps.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Autocast drops its copies when its region ends, which tells most of them; those that the backward needs live on.
/// Where a recording has autocast copies, an activation of half a parameter's size is one too, if the same line makes
/// another block right after it (a copy comes before the result), and if a forward has no more blocks of that size than
/// the model has parameters; where it has more, those right behind the copy of a bias are counted alone. `categories`
/// is indexed as Categorize returns it. cost: O(events + allocations)
void MarkWeightCopies(const Store& store, const Heap& heap, const Timeline& timeline,
                      std::vector<Category>& categories);

}  // namespace memstrata
