#include "analysis/idle/idle.h"

#include <algorithm>

namespace memstrata {
namespace {

// Streams with an allocation or free in the last tenth of the trace. Without events nothing speaks against a stream.
std::vector<bool> RecentStreams(const Store& store, const Heap& heap) {
  std::vector<bool> recent(store.streams.size(), heap.events.size() == 0);
  const uint32_t first = heap.events.end - std::max(1U, heap.events.size() / 10);
  for (uint32_t row = heap.events.size() == 0 ? heap.events.end : first; row < heap.events.end; ++row) {
    if (store.events.kind[row] <= EventKind::kSegmentUnmap) recent[store.events.stream[row]] = true;
  }
  return recent;
}

bool InUse(BlockState state) { return state == BlockState::kActive || state == BlockState::kPendingFree; }

void AddBlockInUse(const BlockTable& blocks, uint32_t row, IdleBytes& sum) {
  const uint64_t requested =
      blocks.requested_bytes[row] == kUnknownBytes ? blocks.size_bytes[row] : blocks.requested_bytes[row];
  sum.block_bytes += blocks.size_bytes[row];
  sum.rounding_bytes += blocks.size_bytes[row] - std::min(requested, blocks.size_bytes[row]);
}

}  // namespace

std::optional<IdleBytes> FindIdle(const Store& store, const Heap& heap) {
  if (!heap.capabilities.has_segments) return std::nullopt;
  const FinalSegmentTable& segments = store.final_segments;
  const BlockTable& blocks = store.blocks;
  const std::vector<bool> recent = RecentStreams(store, heap);
  IdleBytes sum;
  for (uint32_t segment = heap.final_segments.begin; segment < heap.final_segments.end; ++segment) {
    uint64_t used_bytes = 0;
    uint64_t hole_bytes = 0;  // neighbouring inactive blocks are one hole
    for (uint32_t row = segments.block_begin[segment]; row < segments.block_end[segment]; ++row) {
      if (InUse(blocks.state[row])) {
        AddBlockInUse(blocks, row, sum);
        used_bytes += blocks.size_bytes[row];
        hole_bytes = 0;
      } else {
        hole_bytes += blocks.size_bytes[row];
        sum.largest_idle_bytes = std::max(sum.largest_idle_bytes, hole_bytes);
      }
    }
    sum.reserved_bytes += segments.size_bytes[segment];
    const uint64_t idle_bytes = segments.size_bytes[segment] - std::min(used_bytes, segments.size_bytes[segment]);
    const bool is_private = segments.pool[segment] != kNone && store.pools[segments.pool[segment]].is_private();
    uint64_t& kind = is_private                          ? sum.private_pool_bytes
                     : used_bytes == 0                   ? sum.whole_segment_bytes
                     : !recent[segments.stream[segment]] ? sum.stream_bytes
                                                         : sum.split_bytes;
    kind += idle_bytes;
    sum.idle_bytes += idle_bytes;
  }
  return sum;
}

}  // namespace memstrata
