#include "index/curve.h"

#include <algorithm>

namespace memstrata {
namespace {

Curve FromAllocations(const Store& store, const Heap& heap, const Column<uint64_t>& sizes, Curve curve) {
  const AllocationTable& table = store.allocations;
  curve.after_bytes.Resize(heap.events.size(), 0);
  const auto delta = curve.after_bytes.mutable_span();  // modulo 2^64; the sums below are never negative
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint64_t size_bytes = sizes[row];
    if (table.alloc_seq[row] == kNone) {
      curve.begin_bytes += size_bytes;
    } else {
      delta[table.alloc_seq[row]] += size_bytes;
    }
    if (table.free_seq[row] != kNone) delta[table.free_seq[row]] -= size_bytes;
  }
  uint64_t total = curve.begin_bytes;
  for (uint64_t& value : delta) value = total += value;
  return curve;
}

Curve FromSegmentEvents(const Store& store, const Heap& heap, Curve curve) {
  curve.begin_bytes = heap.reserved_begin_bytes;
  curve.after_bytes.Reserve(heap.events.size());
  uint64_t total = curve.begin_bytes;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    const uint64_t size_bytes = store.events.size_bytes[row];
    switch (store.events.kind[row]) {
      case EventKind::kSegmentAlloc:
      case EventKind::kSegmentMap:
        total += size_bytes;
        break;
      case EventKind::kSegmentFree:
      case EventKind::kSegmentUnmap:
        total -= std::min(total, size_bytes);
        break;
      default:
        break;
    }
    curve.after_bytes.PushBack(total);
  }
  return curve;
}

// An XPlane profile says the level after each event, stack and heap; before the first one it was what the preexisting
// blocks hold.
Curve FromXPlane(const Store& store, const Heap& heap, Measure measure, Curve curve) {
  const XPlaneEventTable& details = store.xplane.events;
  curve.after_bytes.Reserve(heap.events.size());
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    const uint64_t free_bytes = details.free_bytes[row] == kUnknownBytes ? 0 : details.free_bytes[row];
    const uint64_t used_bytes = details.stack_bytes[row] + details.heap_bytes[row];
    curve.after_bytes.PushBack(measure == Measure::kReserved ? used_bytes + free_bytes : used_bytes);
  }
  if (measure == Measure::kReserved) {
    curve.begin_bytes = curve.after_bytes[0];
  } else {
    const AllocationTable& table = store.allocations;
    for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
      if (table.alloc_seq[row] == kNone) curve.begin_bytes += table.size_bytes[row];
    }
  }
  return curve;
}

// The program gave the block back, and it is not freed by the very next event.
bool Waits(const AllocationTable& table, uint32_t row) {
  const uint32_t requested_seq = table.free_requested_seq[row];
  return requested_seq != kNone && table.free_seq[row] > requested_seq + 1;
}

}  // namespace

Curve BuildCurve(const Store& store, const Heap& heap, Measure measure, Curve reuse) {
  reuse.begin_bytes = 0;
  reuse.after_bytes.Truncate(0);
  if (store.HasXPlaneDetails(heap)) return FromXPlane(store, heap, measure, std::move(reuse));
  switch (measure) {
    case Measure::kBlock:
      return FromAllocations(store, heap, store.allocations.block_bytes, std::move(reuse));
    case Measure::kReserved:
      return FromSegmentEvents(store, heap, std::move(reuse));
    case Measure::kRequested:
      break;
  }
  return FromAllocations(store, heap, store.allocations.size_bytes, std::move(reuse));
}

bool HasPending(const Store& store, const Heap& heap) {
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (Waits(store.allocations, row)) return true;
  }
  return false;
}

Curve BuildPendingCurve(const Store& store, const Heap& heap) {
  const AllocationTable& table = store.allocations;
  Curve curve;
  curve.after_bytes.Resize(heap.events.size(), 0);
  const auto delta = curve.after_bytes.mutable_span();  // modulo 2^64, as above
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t requested_seq = table.free_requested_seq[row];
    if (!Waits(table, row)) continue;
    delta[requested_seq] += table.size_bytes[row];
    if (table.free_seq[row] != kNone) delta[table.free_seq[row]] -= table.size_bytes[row];
  }
  uint64_t total = 0;
  for (uint64_t& value : delta) value = total += value;
  return curve;
}

Peak FindPeak(const Curve& curve) {
  Peak peak{curve.begin_bytes, {}};
  const auto values = curve.after_bytes.span();
  const auto highest = std::max_element(values.begin(), values.end());
  if (highest != values.end() && *highest > peak.bytes)
    peak = {*highest, Moment::AfterEvent(static_cast<uint32_t>(highest - values.begin()))};
  return peak;
}

std::vector<CurveColumn> Reduce(const Curve& curve, uint32_t column_count) {
  const auto values = curve.after_bytes.span();
  std::vector<CurveColumn> columns;
  for (uint64_t column = 0; column < column_count; ++column) {
    const auto begin = static_cast<size_t>(values.size() * column / column_count);
    const auto end = static_cast<size_t>(values.size() * (column + 1) / column_count);
    // A part without an event of its own shows the value it starts with.
    const uint64_t entry = begin == 0 ? curve.begin_bytes : values[begin - 1];
    CurveColumn reduced{entry, entry};
    if (begin < end) {
      const auto [low, high] = std::minmax_element(values.begin() + static_cast<ptrdiff_t>(begin),
                                                   values.begin() + static_cast<ptrdiff_t>(end));
      reduced = {*low, *high};
      if (column == 0) reduced.max_bytes = std::max(reduced.max_bytes, entry);
    }
    columns.push_back(reduced);
  }
  return columns;
}

}  // namespace memstrata
