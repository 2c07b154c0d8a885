#include "analysis/category/parameter_sizes.h"

namespace memstrata {

FlatMap<uint64_t, uint32_t> CountParameterSizes(const Store& store, const Heap& heap,
                                                std::span<const Category> categories) {
  FlatMap<uint64_t, uint32_t> counts;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (categories[row - heap.allocations.begin] == Category::kParameter) ++counts[store.allocations.size_bytes[row]];
  }
  return counts;
}

}  // namespace memstrata
