#include "analysis/category/update_blocks.h"

#include <algorithm>
#include <deque>

#include "analysis/category/parameter_sizes.h"
#include "analysis/phases/order_events.h"
#include "base/flat_map.h"

namespace memstrata {

void MarkReplacedParameters(const Store& store, const Heap& heap, const Timeline& timeline,
                            std::vector<Category>& categories) {
  const AllocationTable& table = store.allocations;
  const auto category_of = [&](uint32_t row) -> Category& { return categories[row - heap.allocations.begin]; };
  FlatMap<uint64_t, std::deque<uint32_t>> made;  // by this step's updates to stay, by size
  uint32_t step = kNone;
  for (const PhaseSpan& span : timeline.phases) {
    if (span.phase != Phase::kOptimizer && span.phase != Phase::kClip) continue;
    if (span.step != step) made.clear();
    step = span.step;
    for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
      const uint32_t row = store.events.allocation[heap.events.begin + seq];
      if (row == kNone) continue;
      if (table.alloc_seq[row] == seq && category_of(row) == Category::kOptimizerState)
        made[table.size_bytes[row]].push_back(row);
      if (table.free_requested_seq[row] != seq || category_of(row) != Category::kParameter) continue;
      const auto same = made.find(table.size_bytes[row]);
      if (same == made.end() || same->second.empty()) continue;
      category_of(same->second.front()) = Category::kParameter;
      same->second.pop_front();
    }
  }
}

void MarkStatesOfBackward(const Store& store, const Heap& heap, const Timeline& timeline,
                          std::vector<Category>& categories) {
  if (timeline.steps.size() < 2) return;
  const AllocationTable& table = store.allocations;
  const FlatMap<uint64_t, uint32_t> parameters = CountParameterSizes(store, heap, categories);
  const uint32_t last_step_seq = timeline.steps.back().begin_seq;
  std::vector<uint32_t> lasting;
  FlatMap<uint64_t, uint32_t> counts;  // of those, by size
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const bool stays = table.free_requested_seq[row] >= last_step_seq;
    const bool is_gradient = categories[row - heap.allocations.begin] == Category::kGradient;
    if (!is_gradient || table.alloc_seq[row] >= last_step_seq || !stays) continue;
    lasting.push_back(row);
    ++counts[table.size_bytes[row]];
  }
  const bool are_states = std::all_of(counts.begin(), counts.end(), [&](const auto& of_size) {
    const auto count = parameters.find(of_size.first);
    return of_size.first <= kScalarBytes || (count != parameters.end() && of_size.second >= 2 * count->second);
  });
  if (!are_states) return;
  for (const uint32_t row : lasting) categories[row - heap.allocations.begin] = Category::kOptimizerState;
}

}  // namespace memstrata
