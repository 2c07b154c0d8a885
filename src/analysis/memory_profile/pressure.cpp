#include "analysis/memory_profile/pressure.h"

#include <algorithm>

#include "model/store/moment.h"

namespace memstrata {
namespace {

constexpr size_t kLargestCount = 3;

struct Extent {
  uint64_t begin;
  uint64_t end;
};

// Blocks live at the event, by address; what has none is added up.
std::vector<Extent> LiveExtents(const Store& store, const Heap& heap, uint32_t row, uint64_t& placed_bytes) {
  const AllocationTable& table = store.allocations;
  const Moment moment = Moment::AfterEvent(row - heap.events.begin);
  std::vector<Extent> extents;
  for (uint32_t block = heap.allocations.begin; block < heap.allocations.end; ++block) {
    const uint64_t addr = table.addr[block];
    const uint64_t size = table.size_bytes[block];
    if (!IsLive(table, block, moment) || addr == kUnknownBytes || addr == 0 || addr + size < addr) continue;
    extents.push_back({addr, addr + size});
    placed_bytes += size;
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  return extents;
}

// The range of addresses that events name.
Extent NamedRange(const Store& store, const Heap& heap) {
  Extent range{UINT64_MAX, 0};
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    const uint64_t addr = store.events.addr[row];
    const uint64_t end = addr + store.events.size_bytes[row];
    if (addr == 0 || end < addr) continue;
    range.begin = std::min(range.begin, addr);
    range.end = std::max(range.end, end);
  }
  return range;
}

void AddHole(const Store& store, const Heap& heap, uint32_t row, HeapPressure& pressure) {
  uint64_t placed_bytes = 0;
  const std::vector<Extent> extents = LiveExtents(store, heap, row, placed_bytes);
  const uint64_t heap_bytes = store.xplane.events.heap_bytes[row];
  pressure.unplaced_bytes = heap_bytes - std::min(heap_bytes, placed_bytes);
  const Extent range = NamedRange(store, heap);
  if (range.begin >= range.end) return;
  uint64_t largest = 0;
  uint64_t end = range.begin;
  for (const Extent& extent : extents) {
    if (extent.begin > end) largest = std::max(largest, extent.begin - end);
    end = std::max(end, extent.end);
  }
  if (range.end > end) largest = std::max(largest, range.end - end);
  pressure.largest_hole_bytes = largest;
}

}  // namespace

HeapPressure PressureAt(const Store& store, const Heap& heap, uint32_t row) {
  const AllocationTable& table = store.allocations;
  const XPlaneEventTable& details = store.xplane.events;
  const Moment moment = Moment::AfterEvent(row - heap.events.begin);
  HeapPressure pressure;
  std::vector<uint32_t> blocks;
  for (uint32_t block = heap.allocations.begin; block < heap.allocations.end; ++block) {
    const bool is_block = table.alloc_seq[block] != kNone && (table.flags[block] & kReservedStack) == 0;
    if (!is_block || !IsLive(table, block, moment)) continue;
    blocks.push_back(block);
    const uint32_t event = store.EventRow(heap, table.alloc_seq[block]);
    const uint64_t size = table.size_bytes[block];
    if (details.requested_bytes[event] < size) pressure.rounding_bytes += size - details.requested_bytes[event];
    if (store.String(details.region[event]) != "temp") continue;
    pressure.temporary_bytes += size;
    ++pressure.temporary_count;
  }
  const size_t count = std::min(kLargestCount, blocks.size());
  std::partial_sort(
      blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(count), blocks.end(), [&](uint32_t a, uint32_t b) {
        return table.size_bytes[a] != table.size_bytes[b] ? table.size_bytes[a] > table.size_bytes[b] : a < b;
      });
  pressure.largest.assign(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(count));
  for (const uint32_t block : pressure.largest) pressure.largest_bytes += table.size_bytes[block];
  AddHole(store, heap, row, pressure);
  return pressure;
}

}  // namespace memstrata
