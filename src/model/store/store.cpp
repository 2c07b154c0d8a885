#include "model/store/store.h"

namespace memstrata {

const Heap* Store::FindHeap(std::string_view id) const {
  for (const Heap& heap : heaps) {
    if (heap.id == id) return &heap;
  }
  return nullptr;
}

}  // namespace memstrata
