#pragma once
// Caches of a generation that are written anew, a bit larger, for every token.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Marks chains of blocks as KV cache, made where no forward with a backward, no backward and no update runs: each is
/// made while the one before is live, is larger by as much as that one was, and the one before is given back at once.
/// No stacks are needed. cost: O(events)
void MarkGrowingCaches(const Store& store, const Heap& heap, const Timeline& timeline,
                       std::vector<Category>& categories);

}  // namespace memstrata
