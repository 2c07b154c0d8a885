#include "analysis/category/growing_cache.h"

#include <algorithm>

#include "analysis/phases/cache_chains.h"
#include "analysis/phases/order_events.h"

namespace memstrata {

void MarkGrowingCaches(const Store& store, const Heap& heap, const Timeline& timeline,
                       std::vector<Category>& categories) {
  const bool infers = std::any_of(timeline.phases.begin(), timeline.phases.end(),
                                  [](const PhaseSpan& span) { return IsInference(span.phase); });
  if (!infers) return;
  constexpr size_t kFewestBlocks = 5;
  const AllocationTable& table = store.allocations;
  for (const CacheChain& chain : FindCacheChains(store, heap, timeline.phase_of_event, kFewestBlocks)) {
    for (const uint32_t row : chain) categories[row - heap.allocations.begin] = Category::kKvCache;
    // The first of them may take over from what the prompt was computed into, which is given back right behind it.
    const uint32_t first_seq = table.alloc_seq[chain[0]];
    const uint32_t second_seq = table.alloc_seq[chain[1]];
    if (first_seq == kNone) continue;
    uint32_t seq = first_seq + 1;
    while (seq < second_seq && !IsFree(store.events.kind[heap.events.begin + seq])) ++seq;
    for (; seq < second_seq && IsFree(store.events.kind[heap.events.begin + seq]); ++seq) {
      const uint32_t row = store.events.allocation[heap.events.begin + seq];
      const bool lived_for_a_call = row != kNone && table.alloc_seq[row] != kNone && table.alloc_seq[row] < first_seq &&
                                    (first_seq - table.alloc_seq[row]) * 2 > second_seq - first_seq;
      if (lived_for_a_call && IsInference(timeline.phase_of_event[table.alloc_seq[row]]))
        categories[row - heap.allocations.begin] = Category::kKvCache;
    }
  }
}

}  // namespace memstrata
