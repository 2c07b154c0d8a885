#pragma once
// What every pass starts from, computed once for a heap.

#include <vector>

#include "analysis/category/categorize.h"
#include "analysis/growth/growth.h"
#include "analysis/phases/timeline.h"
#include "index/curve.h"

namespace memstrata {

/// What the device gives to all that runs on it, and what of it the allocator cannot have.
struct DeviceRoom {
  uint64_t capacity_bytes = kUnknownBytes;
  /// Of the driver's context, of libraries and other processes; unknown where neither a capture nor a table of cards
  /// says it.
  uint64_t outside_bytes = kUnknownBytes;
  bool is_outside_measured = false;
};

struct HeapAnalysis {
  const Store* store = nullptr;
  const Heap* heap = nullptr;
  Timeline timeline;
  std::vector<Category> categories;  // [allocation row - heap->allocations.begin]
  Curve live;                        // requested bytes after each event
  Peak peak;
  DeviceRoom device;
  Growth growth;

  Category CategoryOf(uint32_t row) const { return categories[row - heap->allocations.begin]; }
  /// Whether the recording has events of allocations; else it shows one state. cost: O(allocations)
  bool HasAllocationEvents() const;
  /// Highest live bytes while events [begin_seq, end_seq) happen, what was live before them included.
  Peak HighestIn(uint32_t begin_seq, uint32_t end_seq) const;
};

/// `device` counts where the recording does not know it. cost: O(events + allocations log allocations)
HeapAnalysis AnalyseHeap(const Store& store, const Heap& heap, const DeviceRoom& device = {});

}  // namespace memstrata
