#include "analysis/phases/gradient_sizes.h"

#include "analysis/phases/order_events.h"

namespace memstrata {

FlatMap<uint64_t, bool> FindGradientSizes(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                          uint32_t first_seq) {
  FlatMap<uint64_t, bool> sizes;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t begin = store.allocations.alloc_seq[row];
    const uint32_t end = store.allocations.free_requested_seq[row];
    if (begin == kNone || begin < first_seq || !IsBackward(phases[begin])) continue;
    if (end != kNone && IsBackward(phases[end])) continue;
    if (store.allocations.size_bytes[row] > kScalarBytes) sizes[store.allocations.size_bytes[row]] = true;
  }
  return sizes;
}

}  // namespace memstrata
