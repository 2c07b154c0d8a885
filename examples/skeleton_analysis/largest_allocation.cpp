#include "skeleton_analysis/largest_allocation.h"

namespace memstrata {

std::optional<LargestAllocation> FindLargestAllocation(const Store& store, const Heap& heap) {
  std::optional<LargestAllocation> largest;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint64_t size_bytes = store.allocations.size_bytes[row];
    if (!largest || size_bytes > largest->size_bytes) largest = {row, size_bytes};
  }
  return largest;
}

}  // namespace memstrata
