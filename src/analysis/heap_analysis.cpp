#include "analysis/heap_analysis.h"

namespace memstrata {

Peak HeapAnalysis::HighestIn(uint32_t begin_seq, uint32_t end_seq) const {
  Peak highest{live.At(Moment{begin_seq}), Moment{begin_seq}};
  for (uint32_t seq = begin_seq; seq < end_seq; ++seq) {
    const Moment after = Moment::AfterEvent(seq);
    if (live.At(after) > highest.bytes) highest = {live.At(after), after};
  }
  return highest;
}

bool HeapAnalysis::HasAllocationEvents() const {
  const AllocationTable& table = store->allocations;
  for (uint32_t row = heap->allocations.begin; row < heap->allocations.end; ++row) {
    if (table.alloc_seq[row] != kNone) return true;
  }
  return false;
}

HeapAnalysis AnalyseHeap(const Store& store, const Heap& heap, uint64_t capacity_bytes) {
  HeapAnalysis analysis;
  analysis.store = &store;
  analysis.heap = &heap;
  analysis.timeline = FindTimeline(store, heap);
  analysis.categories = Categorize(store, heap, analysis.timeline);
  analysis.live = BuildCurve(store, heap, Measure::kRequested);
  analysis.peak = FindPeak(analysis.live);
  analysis.capacity_bytes = heap.capacity_bytes != kUnknownBytes ? heap.capacity_bytes : capacity_bytes;
  analysis.growth = FindGrowth(analysis);
  return analysis;
}

}  // namespace memstrata
