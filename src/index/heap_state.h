#pragma once
// A heap at one moment: segments, the blocks in them, and the holes between, each hole with the reason why not every
// request can have it.
//
// Sizes of blocks of the past follow from the allocator's rounding rules (AllocationFlag::kBlockApproximate); at the
// end they are recorded.

#include <optional>
#include <vector>

#include "model/store/moment.h"
#include "model/store/store.h"

namespace memstrata {

/// The first that fits, in this order.
enum class HoleKind : uint8_t { kPrivatePool, kWholeSegment, kIdleStream, kSplit };

struct StateSegment {
  uint64_t addr = 0;
  uint64_t size_bytes = 0;
  uint64_t used_bytes = 0;  // Σ block sizes
  SegmentKind kind = SegmentKind::kUnknown;
  uint32_t stream = 0;
  uint32_t pool = kNone;
  uint32_t begin_seq = kNone;  // kNone: before the recording; of its oldest part where parts were mapped one by one
  uint32_t block_begin = 0;    // rows [block_begin, block_end) of HeapState::blocks
  uint32_t block_end = 0;
  uint32_t hole_begin = 0;
  uint32_t hole_end = 0;
};

struct StateBlock {
  uint32_t allocation = kNone;
  uint32_t segment = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;  // block, at least what was requested
  bool is_pending = false;
};

struct StateHole {
  uint32_t segment = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  HoleKind kind = HoleKind::kSplit;
};

struct HeapState {
  std::vector<StateSegment> segments;  // by pool, stream, then size falling
  std::vector<StateBlock> blocks;      // by segment and offset
  std::vector<StateHole> holes;        // by segment and offset
  uint64_t kind_bytes[4] = {};         // idle bytes by HoleKind
  uint64_t idle_bytes = 0;
  uint64_t largest_hole_bytes = 0;
  uint64_t rounding_bytes = 0;    // Σ (block - requested)
  bool is_approximate = false;    // block sizes follow from rounding rules, or segments were guessed
  bool segments_guessed = false;  // no segments are recorded: ranges of neighbouring blocks stand in
  uint64_t outside_bytes = 0;     // live blocks that lie in no segment: their segment is missing from the file
  uint64_t outside_count = 0;
};

/// cost: O(allocations + segments), and sorting what is live
HeapState StateAt(const Store& store, const Heap& heap, Moment at);

/// Block size of an allocation where known, else what was requested.
inline uint64_t BlockBytesOrRequested(const AllocationTable& table, uint32_t row) {
  return table.block_bytes[row] == kUnknownBytes ? table.size_bytes[row] : table.block_bytes[row];
}

}  // namespace memstrata
