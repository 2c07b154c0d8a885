#include "analysis/fragmentation/fragmentation.h"

#include <algorithm>

#include "sim/caching_allocator.h"

namespace memstrata {
namespace {

// What a flush would unmap of a hole of an expandable segment: its whole pages, counted from the segment's beginning.
uint64_t WholePages(const StateSegment& segment, const StateHole& hole) {
  const bool is_small = segment.size_bytes % sim::kMediumSegmentBytes != 0;
  const uint64_t page_bytes = is_small ? sim::kSmallSegmentBytes : sim::kMediumSegmentBytes;
  const uint64_t begin = (hole.offset_bytes + page_bytes - 1) / page_bytes * page_bytes;
  const uint64_t end = (hole.offset_bytes + hole.size_bytes) / page_bytes * page_bytes;
  return end > begin ? end - begin : 0;
}

uint64_t Recoverable(const StateSegment& segment, const StateHole& hole) {
  if (hole.kind == HoleKind::kPrivatePool) return 0;
  if (segment.used_bytes == 0) return hole.size_bytes;
  return segment.kind == SegmentKind::kExpandable ? WholePages(segment, hole) : 0;
}

PinnedSegment Describe(const Store& store, const HeapState& state, const StateSegment& segment) {
  PinnedSegment pinned{segment.addr, segment.size_bytes, segment.used_bytes, 0, 0, kNone};
  for (uint32_t i = segment.block_begin; i < segment.block_end; ++i) {
    const uint32_t allocation = state.blocks[i].allocation;
    ++pinned.block_count;
    const bool is_larger =
        pinned.largest_allocation == kNone ||
        store.allocations.size_bytes[allocation] > store.allocations.size_bytes[pinned.largest_allocation];
    if (is_larger) pinned.largest_allocation = allocation;
  }
  for (uint32_t i = segment.hole_begin; i < segment.hole_end; ++i) pinned.hole_bytes += state.holes[i].size_bytes;
  return pinned;
}

}  // namespace

Fragmentation FindFragmentation(const Store& store, const Heap& heap, Moment at, uint64_t needed_bytes) {
  const HeapState state = StateAt(store, heap, at);
  Fragmentation found;
  found.at = at;
  found.idle_bytes = state.idle_bytes;
  std::copy(std::begin(state.kind_bytes), std::end(state.kind_bytes), found.kind_bytes);
  found.hole_count = state.holes.size();
  found.largest_hole_bytes = state.largest_hole_bytes;
  found.needed_bytes = needed_bytes;
  found.is_approximate = state.is_approximate;
  for (const StateSegment& segment : state.segments) {
    found.reserved_bytes += segment.size_bytes;
    found.block_bytes += segment.used_bytes;
    for (uint32_t i = segment.hole_begin; i < segment.hole_end; ++i) {
      const StateHole& hole = state.holes[i];
      const uint64_t recoverable_bytes = Recoverable(segment, hole);
      found.recoverable_bytes += recoverable_bytes;
      if (hole.size_bytes < needed_bytes) found.hard_bytes += hole.size_bytes - recoverable_bytes;
    }
    // A rest that no split would leave is not a hole that somebody pins.
    if (segment.used_bytes == 0 || segment.size_bytes < segment.used_bytes + sim::kSmallRequestBytes + 1) continue;
    found.pinned.push_back(Describe(store, state, segment));
    found.pinned_bytes += segment.size_bytes;
    found.pinning_bytes += segment.used_bytes;
  }
  std::sort(found.pinned.begin(), found.pinned.end(), [](const PinnedSegment& a, const PinnedSegment& b) {
    return a.hole_bytes != b.hole_bytes ? a.hole_bytes > b.hole_bytes : a.addr < b.addr;
  });
  return found;
}

std::optional<Clearing> CheapestClearing(const Store& store, const HeapState& state, uint32_t stream,
                                         uint64_t needed_bytes) {
  std::optional<Clearing> best;
  for (const StateSegment& segment : state.segments) {
    const bool is_private = segment.pool != kNone && store.pools[segment.pool].is_private();
    if (segment.stream != stream || is_private || segment.size_bytes < needed_bytes) continue;
    // A window from the end of one block to the beginning of another, grown to the right and shrunk from the left.
    uint64_t live_bytes = 0;
    uint32_t first = segment.block_begin;
    uint64_t begin = 0;
    for (uint32_t next = segment.block_begin; next <= segment.block_end; ++next) {
      const uint64_t end = next < segment.block_end ? state.blocks[next].offset_bytes : segment.size_bytes;
      while (first < next) {  // without its first block the window may still be wide enough
        const uint64_t behind = state.blocks[first].offset_bytes + state.blocks[first].size_bytes;
        if (end < behind + needed_bytes) break;
        live_bytes -= state.blocks[first].size_bytes;
        begin = behind;
        ++first;
      }
      if (end >= begin + needed_bytes && (!best || live_bytes < best->live_bytes))
        best = Clearing{live_bytes, next - first, segment.addr};
      if (next < segment.block_end) live_bytes += state.blocks[next].size_bytes;
    }
  }
  return best;
}

}  // namespace memstrata
