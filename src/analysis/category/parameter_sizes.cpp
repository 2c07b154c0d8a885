#include "analysis/category/parameter_sizes.h"

#include <algorithm>

namespace memstrata {

FlatMap<uint64_t, uint32_t> CountParameterSizes(const Store& store, const Heap& heap,
                                                std::span<const Category> categories) {
  FlatMap<uint64_t, uint32_t> counts;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (categories[row - heap.allocations.begin] == Category::kParameter) ++counts[store.allocations.size_bytes[row]];
  }
  return counts;
}

FlatMap<uint64_t, uint32_t> CountSizesInStep(const Store& store, const Heap& heap, const Timeline& timeline,
                                             std::span<const Category> categories, Category category) {
  const AllocationTable& table = store.allocations;
  FlatMap<uint64_t, uint32_t> most;
  FlatMap<uint64_t, uint32_t> in_step;
  uint32_t step = kNone;
  const auto finish = [&] {
    for (const auto& [size, count] : in_step) most[size] = std::max(most[size], count);
    in_step.clear();
  };
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t seq = table.alloc_seq[row];
    if (seq == kNone || categories[row - heap.allocations.begin] != category) continue;
    if (category == Category::kTemporary && timeline.phase_of_event[seq] != Phase::kOptimizer) continue;
    if (timeline.step_of_event[seq] != step) finish();
    step = timeline.step_of_event[seq];
    ++in_step[table.size_bytes[row]];
  }
  finish();
  return most;
}

}  // namespace memstrata
