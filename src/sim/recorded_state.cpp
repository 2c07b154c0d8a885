#include "sim/recorded_state.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "model/store/moment.h"

namespace memstrata::sim {
namespace {

std::string_view Setting(const Source& source, std::string_view key) {
  for (const auto& [name, value] : source.metadata) {
    if (name == key) return value;
  }
  return {};
}

template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct LiveBlock {
  uint64_t addr;
  uint64_t size_bytes;
  uint32_t row;
};

std::vector<LiveBlock> BlocksBefore(const Store& store, const Heap& heap) {
  const AllocationTable& table = store.allocations;
  std::vector<LiveBlock> blocks;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (table.alloc_seq[row] != kNone || table.block_bytes[row] == kUnknownBytes || table.block_bytes[row] == 0)
      continue;
    blocks.push_back({table.addr[row], table.block_bytes[row], row});
  }
  std::sort(blocks.begin(), blocks.end(), [](const LiveBlock& a, const LiveBlock& b) { return a.addr < b.addr; });
  return blocks;
}

struct OldSegment {
  uint64_t addr;
  uint64_t size_bytes;
  uint32_t row;
};

std::vector<OldSegment> SegmentsBefore(const Store& store, const Heap& heap) {
  std::vector<OldSegment> segments;
  for (uint32_t row = heap.segments.begin; row < heap.segments.end; ++row) {
    if (store.segments.begin_seq[row] == kNone)
      segments.push_back({store.segments.addr[row], store.segments.size_bytes[row], row});
  }
  std::sort(segments.begin(), segments.end(), [](const OldSegment& a, const OldSegment& b) { return a.addr < b.addr; });
  return segments;
}

// The small pool has blocks up to 1 MiB in segments (or pages) of 2 MiB; a large pool never has such a block.
bool IsSmall(const SegmentTable& segments, const OldSegment& segment, const std::vector<LiveBlock>& blocks,
             size_t first) {
  const SegmentKind kind = segments.kind[segment.row];
  if (kind == SegmentKind::kSmall || kind == SegmentKind::kLarge) return kind == SegmentKind::kSmall;
  if (first < blocks.size() && blocks[first].addr < segment.addr + segment.size_bytes)
    return blocks[first].size_bytes <= kSmallRequestBytes;
  return kind == SegmentKind::kExpandable ? segment.size_bytes % kMediumSegmentBytes != 0
                                          : segment.size_bytes == kSmallSegmentBytes;
}

// Behind a mapped range, up to the next one, lie addresses that it can grow into.
uint64_t TailBytes(const std::vector<OldSegment>& segments, size_t i) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  if (i + 1 == segments.size()) return kMostBytes;
  return std::min(kMostBytes,
                  segments[i + 1].addr - std::min(segments[i + 1].addr, segments[i].addr + segments[i].size_bytes));
}

}  // namespace

bool CanReplay(const Heap& heap) {
  return heap.allocator == "torch_caching" && heap.kind == HeapKind::kDevice && heap.capabilities.has_events &&
         heap.segments.size() > 0;
}

AllocatorSettings RecordedSettings(const Store& store, const Heap& heap) {
  const Source& source = store.sources[heap.source];
  AllocatorSettings settings;
  settings.rounding = BlockRounding::FromText(Setting(source, "roundup_power2_divisions"));
  if (const auto limit = ParseNumber<uint64_t>(Setting(source, "max_split_size"))) settings.max_split_bytes = *limit;
  settings.expandable_segments = Setting(source, "expandable_segments") == "True";
  settings.garbage_collection_threshold =
      ParseNumber<double>(Setting(source, "garbage_collection_threshold")).value_or(0);
  return settings;
}

uint32_t ModelPool(const Store& store, uint32_t pool) {
  return pool == kNone || !store.pools[pool].is_private() ? 0 : pool + 1;
}

std::optional<uint64_t> RecordedLimit(const Store& store, const Heap& heap) {
  uint64_t reserved_bytes = heap.reserved_begin_bytes;
  std::optional<uint64_t> limit;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    const uint64_t size_bytes = store.events.size_bytes[row];
    switch (store.events.kind[row]) {
      case EventKind::kSegmentAlloc:
      case EventKind::kSegmentMap:
        reserved_bytes += size_bytes;
        break;
      case EventKind::kSegmentFree:
      case EventKind::kSegmentUnmap:
        reserved_bytes -= std::min(reserved_bytes, size_bytes);
        break;
      case EventKind::kOutOfMemory:
        if (store.events.addr[row] != kUnknownBytes) limit = reserved_bytes + store.events.addr[row];
        break;
      default:
        break;
    }
  }
  return limit;
}

void RestoreBeginning(const Store& store, const Heap& heap, CachingAllocator& allocator,
                      std::vector<BlockId>& block_of) {
  const std::vector<LiveBlock> blocks = BlocksBefore(store, heap);
  const std::vector<OldSegment> segments = SegmentsBefore(store, heap);
  size_t next = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const OldSegment& segment = segments[i];
    const uint64_t end = segment.addr + segment.size_bytes;
    const uint32_t stream = store.segments.stream[segment.row];
    const bool expandable = store.segments.kind[segment.row] == SegmentKind::kExpandable;
    while (next < blocks.size() && blocks[next].addr < segment.addr) ++next;
    const bool small = IsSmall(store.segments, segment, blocks, next);
    allocator.AddSegment(segment.addr, segment.size_bytes, stream, ModelPool(store, store.segments.pool[segment.row]),
                         small, expandable, expandable ? TailBytes(segments, i) : 0);
    for (; next < blocks.size() && blocks[next].addr < end; ++next) {
      const LiveBlock& block = blocks[next];
      const uint64_t limit = next + 1 < blocks.size() ? std::min(end, blocks[next + 1].addr) : end;
      // No split of the large pool leaves 1 MiB or less: such a gap belongs to the block before it.
      const uint64_t gap_bytes = limit - std::min(limit, block.addr + block.size_bytes);
      const bool is_rest = !small && !expandable && gap_bytes <= kSmallRequestBytes;
      block_of[block.row - heap.allocations.begin] =
          allocator.TakeAt(block.addr, block.size_bytes + (is_rest ? gap_bytes : 0), stream);
    }
  }
}

}  // namespace memstrata::sim
