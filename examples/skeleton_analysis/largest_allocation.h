#pragma once
// Example of an analysis: which single allocation is the largest? Copy this folder to src/analysis/NAME/.
//
// An analysis answers one question about a finished store, as data. It prints nothing and changes nothing.

#include <optional>

#include "model/store/store.h"

namespace memstrata {

struct LargestAllocation {
  uint32_t row = 0;         // of the allocation table
  uint64_t size_bytes = 0;  // as requested
};

/// The largest allocation of a heap, the first of equal ones; nothing when the heap has none.
/// unit: bytes   cost: O(allocations of the heap)
std::optional<LargestAllocation> FindLargestAllocation(const Store& store, const Heap& heap);

}  // namespace memstrata
