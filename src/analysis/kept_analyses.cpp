#include "analysis/kept_analyses.h"

namespace memstrata {

KeptAnalyses::KeptAnalyses(const Store& store, const DeviceRoom& device)
    : store_(store), device_(device), analyses_(store.heaps.size()) {}

const HeapAnalysis& KeptAnalyses::Of(const Heap& heap) {
  return analyses_[static_cast<size_t>(&heap - store_.heaps.data())].Get(
      [&] { return AnalyseHeap(store_, heap, device_); });
}

}  // namespace memstrata
