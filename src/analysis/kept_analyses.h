#pragma once
// The analyses of a store, each made once for all answers that start from it.

#include <deque>

#include "analysis/heap_analysis.h"
#include "base/lazy.h"

namespace memstrata {

class KeptAnalyses {
 public:
  /// The store must outlive it. `device` counts where the recording does not know the device.
  explicit KeptAnalyses(const Store& store, const DeviceRoom& device = {});

  const Store& store() const { return store_; }
  /// Of a heap of the store. Thread-safe. cost: that of AnalyseHeap() for the first one who asks
  const HeapAnalysis& Of(const Heap& heap);

 private:
  const Store& store_;
  const DeviceRoom device_;
  std::deque<Lazy<HeapAnalysis>> analyses_;  // by row of Store::heaps
};

}  // namespace memstrata
