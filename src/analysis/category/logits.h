#pragma once
// Which blocks are logits: as many numbers as tokens times vocabulary, and what the loss makes of them.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Blocks of the loss by their stacks, else the largest block at the end of a forward whose backward begins with one as
/// large; and, next to the loss, all of that size or, in half the precision, half of it; and what the same
/// lines make in a forward that comes to no backward. `categories` is indexed as
/// Categorize returns it; blocks that are more than activations or temporaries keep theirs.
/// cost: O(events + allocations)
void MarkLogits(const Store& store, const Heap& heap, const Timeline& timeline, const std::vector<Category>& by_stack,
                std::vector<Category>& categories);

}  // namespace memstrata
