#include "report/unknown_share.h"

namespace memstrata {

bool IsMostlyUnknown(SessionIndex& session, HeapEntry& heap) {
  constexpr double kMostlyUnknown = 0.85;  // from here on the page colours by stack of its own accord
  if (!heap.heap.capabilities.has_stacks) return false;
  const AllocationTable& table = session.store().allocations;
  const Peak peak = heap.heap_index.LivePeak();
  uint64_t unknown_bytes = 0;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    const bool is_unknown = session.CategoryOfRow()[row] == Category::kUnknown;
    if (is_unknown && IsLive(table, row, peak.moment)) unknown_bytes += table.size_bytes[row];
  }
  return static_cast<double>(unknown_bytes) > kMostlyUnknown * static_cast<double>(peak.bytes);
}

}  // namespace memstrata
