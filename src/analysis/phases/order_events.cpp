#include "analysis/phases/order_events.h"

#include <algorithm>

namespace memstrata {

OrderEvents CollectOrderEvents(const Store& store, const Heap& heap) {
  OrderEvents events;
  std::vector<uint32_t> alloc_index(heap.allocations.size(), kNone);
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const EventKind kind = store.events.kind[row];
    const uint32_t allocation = store.events.allocation[row];
    if ((kind != EventKind::kAlloc && kind != EventKind::kFreeRequested) || allocation == kNone) continue;
    const auto index = static_cast<uint32_t>(events.size());
    uint32_t& made_at = alloc_index[allocation - heap.allocations.begin];
    const bool is_alloc = kind == EventKind::kAlloc;
    events.push_back({seq, is_alloc, store.events.size_bytes[row], is_alloc ? index : made_at, kNone});
    if (is_alloc) {
      made_at = index;
    } else {
      events.back().free_index = index;
      if (made_at != kNone) events[made_at].free_index = index;
    }
  }
  return events;
}

uint32_t OrderIndexAt(const OrderEvents& events, uint32_t seq) {
  const auto at = std::lower_bound(events.begin(), events.end(), seq,
                                   [](const OrderEvent& event, uint32_t value) { return event.seq < value; });
  return static_cast<uint32_t>(at - events.begin());
}

std::vector<FreeRun> FindFreeRuns(const OrderEvents& events) {
  std::vector<FreeRun> runs;
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events[i].is_alloc) continue;
    if (runs.empty() || runs.back().end != i) runs.push_back({i, i, kNone});
    runs.back().end = i + 1;
    if (!events[i].IsScalar())
      runs.back().oldest_alloc_index = std::min(runs.back().oldest_alloc_index, events[i].alloc_index);
  }
  return runs;
}

}  // namespace memstrata
