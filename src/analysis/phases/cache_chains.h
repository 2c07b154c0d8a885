#pragma once
// Caches of a generation that are written anew with each token: a block that replaces one which is smaller by one part,
// time and again.

#include <cstdint>
#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Rows of allocations, each of which replaced the one before; the parts by which they grow are alike. Another chain
/// grows at the same time by the same part.
using CacheChain = std::vector<uint32_t>;

/// Those of at least `fewest_blocks` (two or more), in order of their first ones. Work of a training is none.
/// cost: O(events)
std::vector<CacheChain> FindCacheChains(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                        size_t fewest_blocks);

}  // namespace memstrata
