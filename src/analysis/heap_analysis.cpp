#include "analysis/heap_analysis.h"

#include <optional>

#include "index/outside.h"

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

namespace {

DeviceRoom RoomOf(const Heap& heap, const DeviceRoom& otherwise) {
  DeviceRoom room = otherwise;
  if (heap.capacity_bytes != kUnknownBytes) room.capacity_bytes = heap.capacity_bytes;
  if (const std::optional<OutsideMemory> outside = FindOutside(heap, std::nullopt)) {
    room.outside_bytes = outside->bytes;
    room.is_outside_measured = true;
  }
  return room;
}

}  // namespace

HeapAnalysis AnalyseHeap(const Store& store, const Heap& heap, const DeviceRoom& device) {
  HeapAnalysis analysis;
  analysis.store = &store;
  analysis.heap = &heap;
  analysis.timeline = FindTimeline(store, heap);
  analysis.categories = Categorize(store, heap, analysis.timeline);
  analysis.live = BuildCurve(store, heap, Measure::kRequested);
  analysis.peak = FindPeak(analysis.live);
  analysis.device = RoomOf(heap, device);
  analysis.growth = FindGrowth(analysis);
  return analysis;
}

}  // namespace memstrata
