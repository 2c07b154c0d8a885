#include "analysis/category/trained_parameters.h"

#include "analysis/category/parameter_sizes.h"
#include "base/flat_map.h"

namespace memstrata {

void MarkTrainedParameters(const Store& store, const Heap& heap, const Timeline& timeline,
                           std::vector<Category>& categories) {
  if (timeline.steps.empty()) return;
  const AllocationTable& table = store.allocations;
  FlatMap<uint64_t, uint32_t> missing = CountSizesInStep(store, heap, timeline, categories, Category::kGradient);
  for (const auto& [size, count] : CountParameterSizes(store, heap, categories)) missing.erase(size);
  // An input may have a gradient too, but no state.
  FlatMap<uint64_t, bool> has_state;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (categories[row - heap.allocations.begin] == Category::kOptimizerState) has_state[table.size_bytes[row]] = true;
  }
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end && !missing.empty(); ++row) {
    Category& category = categories[row - heap.allocations.begin];
    const uint32_t seq = table.alloc_seq[row];
    const bool stays = table.free_requested_seq[row] >= timeline.steps.back().begin_seq;
    if (category != Category::kUnknown || !stays || seq >= timeline.steps.front().begin_seq) continue;
    const auto found = missing.find(table.size_bytes[row]);
    if (found == missing.end() || found->second == 0 || !has_state.contains(found->first)) continue;
    --found->second;
    category = Category::kParameter;
  }
}

}  // namespace memstrata
