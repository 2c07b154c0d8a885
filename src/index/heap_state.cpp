#include "index/heap_state.h"

#include <algorithm>
#include <tuple>

#include "model/allocator/block_rounding.h"

namespace memstrata {
namespace {

// Without recorded segments, blocks less than this apart count as one range: the granularity of large segments.
constexpr uint64_t kGuessedGapBytes = 2ULL << 20;

// Those for which `wanted(row)` holds.
template <class Wanted>
std::vector<uint32_t> RowsByAddress(const Store& store, const Heap& heap, Wanted&& wanted) {
  const AllocationTable& table = store.allocations;
  std::vector<uint32_t> rows;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (wanted(row)) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(table.addr[a], a) < std::pair(table.addr[b], b); });
  return rows;
}

bool IsReserved(const SegmentTable& table, uint32_t row, Moment at) {
  const uint32_t begin = table.begin_seq[row];
  return (begin == kNone || begin < at.event_count) && table.end_seq[row] >= at.event_count;
}

bool Continues(const StateSegment& before, const StateSegment& next) {
  return before.kind == SegmentKind::kExpandable && next.kind == SegmentKind::kExpandable &&
         before.addr + before.size_bytes == next.addr && before.stream == next.stream && before.pool == next.pool;
}

uint32_t Older(uint32_t a, uint32_t b) { return a == kNone || b == kNone ? kNone : std::min(a, b); }

// Reserved ranges by address. Neighbouring mapped ranges are one expandable segment.
std::vector<StateSegment> RecordedSegments(const Store& store, const Heap& heap, Moment at) {
  const SegmentTable& table = store.segments;
  std::vector<StateSegment> parts;
  for (uint32_t row = heap.segments.begin; row < heap.segments.end; ++row) {
    if (!IsReserved(table, row, at)) continue;
    parts.push_back({table.addr[row], table.size_bytes[row], 0, table.kind[row], table.stream[row], table.pool[row],
                     table.begin_seq[row]});
  }
  std::sort(parts.begin(), parts.end(), [](const StateSegment& a, const StateSegment& b) { return a.addr < b.addr; });
  std::vector<StateSegment> segments;
  for (const StateSegment& part : parts) {
    if (!segments.empty() && Continues(segments.back(), part)) {
      segments.back().size_bytes += part.size_bytes;
      segments.back().begin_seq = Older(segments.back().begin_seq, part.begin_seq);
    } else {
      segments.push_back(part);
    }
  }
  return segments;
}

std::vector<StateSegment> GuessedSegments(const Store& store, const std::vector<uint32_t>& rows) {
  const AllocationTable& table = store.allocations;
  std::vector<StateSegment> segments;
  for (const uint32_t row : rows) {
    const uint64_t end = table.addr[row] + BlockBytesOrRequested(table, row);
    if (table.addr[row] == kUnknownBytes || end < table.addr[row]) continue;  // lies in no segment
    if (!segments.empty() && table.addr[row] < segments.back().addr + segments.back().size_bytes + kGuessedGapBytes) {
      StateSegment& last = segments.back();
      last.size_bytes = std::max(last.addr + last.size_bytes, end) - last.addr;
    } else {
      segments.push_back({table.addr[row], end - table.addr[row], 0, SegmentKind::kUnknown, table.stream[row],
                          table.pool[row], kNone});
    }
  }
  return segments;
}

// Streams with an allocator event in the tenth of the recording that ends at the moment.
std::vector<bool> RecentStreams(const Store& store, const Heap& heap, Moment at) {
  std::vector<bool> recent(store.streams.size(), at.event_count == 0);
  const uint32_t window = std::max(1U, heap.events.size() / 10);
  const uint32_t begin = at.event_count - std::min(at.event_count, window);
  for (uint32_t seq = begin; seq < at.event_count; ++seq) {
    const uint32_t row = store.EventRow(heap, seq);
    if (store.events.kind[row] <= EventKind::kSegmentUnmap) recent[store.events.stream[row]] = true;
  }
  return recent;
}

HoleKind KindOf(const Store& store, const StateSegment& segment, const std::vector<bool>& recent) {
  if (segment.pool != kNone && store.pools[segment.pool].is_private()) return HoleKind::kPrivatePool;
  if (segment.used_bytes == 0) return HoleKind::kWholeSegment;
  return recent[segment.stream] ? HoleKind::kSplit : HoleKind::kIdleStream;
}

// Blocks into the segment that holds their address; both are in order of address.
void PlaceBlocks(const Store& store, Moment at, const std::vector<uint32_t>& rows, HeapState& state) {
  const AllocationTable& table = store.allocations;
  size_t segment = 0;
  for (const uint32_t row : rows) {
    const uint64_t addr = table.addr[row];
    const uint64_t requested_bytes = table.size_bytes[row];
    while (segment < state.segments.size() && state.segments[segment].addr + state.segments[segment].size_bytes <= addr)
      ++segment;
    if (segment == state.segments.size() || state.segments[segment].addr > addr) {
      state.outside_bytes += requested_bytes;
      ++state.outside_count;
      continue;
    }
    StateSegment& into = state.segments[segment];
    const uint64_t offset_bytes = addr - into.addr;
    const uint64_t block_bytes =
        std::min(std::max(BlockBytesOrRequested(table, row), requested_bytes), into.size_bytes - offset_bytes);
    state.is_approximate |= (table.flags[row] & kBlockApproximate) != 0 || table.block_bytes[row] == kUnknownBytes;
    state.blocks.push_back({row, static_cast<uint32_t>(segment), offset_bytes, block_bytes, IsPending(table, row, at)});
    state.rounding_bytes += block_bytes - std::min(block_bytes, requested_bytes);
    into.used_bytes += block_bytes;
  }
}

void AddHole(uint32_t segment, uint64_t begin, uint64_t end, HoleKind kind, HeapState& state) {
  if (end <= begin) return;
  state.holes.push_back({segment, begin, end - begin, kind});
  state.kind_bytes[static_cast<size_t>(kind)] += end - begin;
  state.idle_bytes += end - begin;
  state.largest_hole_bytes = std::max(state.largest_hole_bytes, end - begin);
}

void FindHoles(const Store& store, const Heap& heap, Moment at, HeapState& state) {
  const std::vector<bool> recent = RecentStreams(store, heap, at);
  size_t block = 0;
  for (uint32_t row = 0; row < state.segments.size(); ++row) {
    StateSegment& segment = state.segments[row];
    segment.block_begin = static_cast<uint32_t>(block);
    segment.hole_begin = static_cast<uint32_t>(state.holes.size());
    const HoleKind kind = KindOf(store, segment, recent);
    uint64_t free_from = 0;
    for (; block < state.blocks.size() && state.blocks[block].segment == row; ++block) {
      AddHole(row, free_from, state.blocks[block].offset_bytes, kind, state);
      free_from = std::max(free_from, state.blocks[block].offset_bytes + state.blocks[block].size_bytes);
    }
    AddHole(row, free_from, segment.size_bytes, kind, state);
    segment.block_end = static_cast<uint32_t>(block);
    segment.hole_end = static_cast<uint32_t>(state.holes.size());
  }
}

// A gap behind a block of the large pool that may be the rest which the allocator did not split off.
struct Rest {
  uint64_t begin = 0;  // addresses
  uint64_t end = 0;
  uint32_t block = 0;
  uint32_t block_begin_seq = 0;
  bool held_another = false;
};

// Gaps behind blocks whose size follows from rounding, in order of address.
std::vector<Rest> PossibleRests(const Store& store, const HeapState& state) {
  const AllocationTable& table = store.allocations;
  std::vector<Rest> rests;
  for (uint32_t i = 0; i < state.blocks.size(); ++i) {
    const StateBlock& block = state.blocks[i];
    const StateSegment& segment = state.segments[block.segment];
    const uint32_t row = block.allocation;
    const bool is_guess = (table.flags[row] & kBlockApproximate) != 0 && table.alloc_seq[row] != kNone;
    if (segment.kind != SegmentKind::kLarge || !is_guess) continue;
    const bool is_last = i + 1 == state.blocks.size() || state.blocks[i + 1].segment != block.segment;
    const uint64_t begin = block.offset_bytes + block.size_bytes;
    const uint64_t end = is_last ? segment.size_bytes : state.blocks[i + 1].offset_bytes;
    if (end > begin && end - begin <= BlockRounding::kMostUnsplitBytes)
      rests.push_back({segment.addr + begin, segment.addr + end, i, table.alloc_seq[row]});
  }
  return rests;
}

// Blocks take the low end of a free block, and what is left of it is split off only where it is larger than
// kMostUnsplitBytes. So a gap of at most that, in which nothing has lain since the block before it was allocated, was
// never split off: it belongs to the block.
void GiveRestsToBlocks(const Store& store, const Heap& heap, Moment at, HeapState& state) {
  std::vector<Rest> rests = PossibleRests(store, state);
  if (rests.empty()) return;
  const AllocationTable& table = store.allocations;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint64_t addr = table.addr[row];
    const auto rest = std::upper_bound(rests.begin(), rests.end(), addr,
                                       [](uint64_t value, const Rest& of) { return value < of.end; });
    if (rest == rests.end() || addr < rest->begin) continue;
    const bool began = table.alloc_seq[row] == kNone || table.alloc_seq[row] < at.event_count;
    if (began && table.free_seq[row] >= rest->block_begin_seq) rest->held_another = true;
  }
  for (const Rest& rest : rests) {
    if (rest.held_another) continue;
    StateBlock& block = state.blocks[rest.block];
    block.size_bytes += rest.end - rest.begin;
    state.rounding_bytes += rest.end - rest.begin;
    state.segments[block.segment].used_bytes += rest.end - rest.begin;
  }
}

// From order of address to order of reading.
void OrderForReading(const Store& store, HeapState& state) {
  const auto pool_key = [&](const StateSegment& segment) {
    return segment.pool == kNone ? std::pair<uint64_t, uint64_t>{}
                                 : std::pair(store.pools[segment.pool].first, store.pools[segment.pool].second);
  };
  const auto key = [&](const StateSegment& segment) {
    return std::tuple(pool_key(segment), segment.stream, ~segment.size_bytes, segment.addr);
  };
  std::vector<StateSegment> segments = state.segments;
  std::sort(segments.begin(), segments.end(),
            [&](const StateSegment& a, const StateSegment& b) { return key(a) < key(b); });
  HeapState ordered;
  for (uint32_t row = 0; row < segments.size(); ++row) {
    StateSegment segment = segments[row];
    const auto copy = [&](const auto& from, auto& to, uint32_t& begin, uint32_t& end) {
      const auto count = end - begin;
      for (uint32_t i = begin; i < end; ++i) to.push_back(from[i]), to.back().segment = row;
      end = static_cast<uint32_t>(to.size());
      begin = end - count;
    };
    copy(state.blocks, ordered.blocks, segment.block_begin, segment.block_end);
    copy(state.holes, ordered.holes, segment.hole_begin, segment.hole_end);
    ordered.segments.push_back(segment);
  }
  state.segments = std::move(ordered.segments);
  state.blocks = std::move(ordered.blocks);
  state.holes = std::move(ordered.holes);
}

}  // namespace

HeapState StateAt(const Store& store, const Heap& heap, Moment at) {
  const std::vector<uint32_t> rows =
      RowsByAddress(store, heap, [&](uint32_t row) { return IsLive(store.allocations, row, at); });
  HeapState state;
  state.segments_guessed = heap.segments.size() == 0;
  if (!state.segments_guessed) {
    state.segments = RecordedSegments(store, heap, at);
  } else if (store.HasXPlaneDetails(heap)) {
    // XLA's allocators hold their pool for the whole recording: where any block of it lay is theirs.
    state.segments = GuessedSegments(store, RowsByAddress(store, heap, [](uint32_t) { return true; }));
  } else {
    state.segments = GuessedSegments(store, rows);
  }
  PlaceBlocks(store, at, rows, state);
  state.is_approximate |= state.segments_guessed;
  GiveRestsToBlocks(store, heap, at, state);
  FindHoles(store, heap, at, state);
  OrderForReading(store, state);
  return state;
}

}  // namespace memstrata
