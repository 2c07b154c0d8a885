#include "index/heap_index.h"

namespace memstrata {

Peak PeakOf(const IndexedCurve& indexed) {
  const Curve& curve = indexed.curve;
  const auto count = static_cast<uint32_t>(curve.after_bytes.size());
  if (count == 0) return {curve.begin_bytes, {}};
  const Extremes all = indexed.extremes.Find(0, count);
  return all.max > curve.begin_bytes ? Peak{all.max, Moment::AfterEvent(all.max_index)} : Peak{curve.begin_bytes, {}};
}

const IndexedCurve* HeapIndex::Pending() {
  if (!has_pending_.Get([&] { return HasPending(store_, heap_); })) return nullptr;
  return &pending_.Get([&] { return BuildPendingCurve(store_, heap_); });
}

const IndexedCurve& HeapIndex::Used() {
  return used_.Get([&] {
    Curve curve;
    for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row) {
      curve.after_bytes.PushBack(store_.xplane.events.stack_bytes[row] + store_.xplane.events.heap_bytes[row]);
    }
    return curve;
  });
}

const std::vector<uint32_t>& HeapIndex::OutOfMemory() {
  return out_of_memory_.Get([&] {
    std::vector<uint32_t> found;
    for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row) {
      if (store_.events.kind[row] == EventKind::kOutOfMemory) found.push_back(row - heap_.events.begin);
    }
    return found;
  });
}

}  // namespace memstrata
