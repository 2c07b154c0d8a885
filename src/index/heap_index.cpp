#include "index/heap_index.h"

namespace memstrata {

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
