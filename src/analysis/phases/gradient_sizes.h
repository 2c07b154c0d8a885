#pragma once
// Of which sizes gradients are, once phases are known.

#include <cstdint>
#include <vector>

#include "analysis/phases/phase.h"
#include "base/flat_map.h"
#include "model/store/store.h"

namespace memstrata {

/// Sizes of what backwards make, from `first_seq` on, and leave behind. `phases` by event of the heap.
/// cost: O(allocations)
FlatMap<uint64_t, bool> FindGradientSizes(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                          uint32_t first_seq = 0);

}  // namespace memstrata
