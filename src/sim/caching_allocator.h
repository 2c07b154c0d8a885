#pragma once
// A model of PyTorch's CUDA caching allocator: rounding, pools, streams, best fit by size and address, splitting and
// merging, frees that wait for another stream, expandable segments, and what it gives back before it fails. It holds no
// memory, it only counts. The planner runs a program on it that does not exist yet; replays run a recorded one.
//
// Source of the rules: c10/cuda/CUDACachingAllocator in PyTorch 2.0 to 2.11. They are checked against recordings of the
// real allocator, address by address (sim/trace_replay_test.cpp).
//
// Not modelled: callbacks that free memory, graph captures that reuse blocks across streams, pools with an allocator of
// their own.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/allocator/block_rounding.h"
#include "sim/free_list.h"

namespace memstrata::sim {

inline constexpr uint64_t kUnlimitedBytes = std::numeric_limits<uint64_t>::max();
inline constexpr uint64_t kSmallRequestBytes = uint64_t{1} << 20;  // up to here from the small pool
inline constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;  // and the page of its expandable segments
inline constexpr uint64_t kMediumRequestBytes = uint64_t{10} << 20;
inline constexpr uint64_t kMediumSegmentBytes = uint64_t{20} << 20;
inline constexpr uint64_t kLargeStepBytes = uint64_t{2} << 20;
inline constexpr uint64_t kRequestCeilingBytes = uint64_t{1} << 60;  // from here on a request fails at once

struct AllocatorSettings {
  BlockRounding rounding;
  uint64_t max_split_bytes = kUnlimitedBytes;
  uint64_t max_non_split_rounding_bytes = kMediumSegmentBytes;
  bool expandable_segments = false;
  double garbage_collection_threshold = 0;  // share of the limit; 0 = off
};

/// What the driver would be asked for, when a request of this block size needs a segment of its own.
uint64_t SegmentBytes(uint64_t block_bytes);

inline constexpr BlockId kNoBlock = 0xFFFFFFFF;

/// One call of the driver that the model made.
struct DriverCall {
  enum class Kind : uint8_t { kAlloc, kFree, kMap, kUnmap };
  Kind kind = Kind::kAlloc;
  uint64_t addr = 0;
  uint64_t size_bytes = 0;
};

class CachingAllocator {
 public:
  /// `limit_bytes`: what the device gives; nothing means without end.
  explicit CachingAllocator(std::optional<uint64_t> limit_bytes, const AllocatorSettings& settings = {})
      : limit_bytes_(limit_bytes), settings_(settings) {}

  /// The block for a request, or kNoBlock when the device is full even after everything idle was given back.
  /// `pool` 0 is the default one. cost: O(log blocks)
  BlockId Allocate(uint64_t requested_bytes, uint32_t stream = 0, uint32_t pool = 0);
  void Free(BlockId block);
  /// The program gave it back, but another stream still uses it: it joins nothing until Free().
  void MarkPending(BlockId block) { blocks_[block].state = State::kPending; }
  /// empty_cache(): gives back what is idle as a whole, of the default pool. cost: O(free blocks)
  void EmptyCache();
  /// From now on the device has no end (to learn how much would have been needed after it ran out).
  void LiftLimit() { limit_bytes_.reset(); }

  uint64_t AddressOf(BlockId block) const { return blocks_[block].addr; }
  uint64_t BlockBytes(BlockId block) const { return blocks_[block].size_bytes; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t peak_reserved_bytes() const { return peak_reserved_bytes_; }
  /// How often idle memory had to be given back to the device to go on.
  uint64_t flush_count() const { return flush_count_; }
  /// The largest free block that a request of the default pool on this stream could have.
  uint64_t LargestFreeBytes(uint32_t stream, bool small) const;

  // For replays of recordings: the state that they begin with, the addresses that the driver gave, and what differed.

  /// The next segment, or range of an expandable one, lies here instead of behind all others.
  void SetNextAddress(uint64_t addr) { given_addr_ = addr; }
  /// A segment that exists already, as one free block. `tail_bytes`: unmapped range behind it (expandable).
  void AddSegment(uint64_t addr, uint64_t size_bytes, uint32_t stream, uint32_t pool, bool small, bool expandable,
                  uint64_t tail_bytes = 0);
  /// Takes exactly this range out of a free block; kNoBlock when no free block covers it. cost: O(free blocks)
  BlockId TakeAt(uint64_t addr, uint64_t size_bytes, uint32_t stream);
  /// Gives back the segment at `addr` if nothing of it is in use. cost: O(free blocks)
  bool ReleaseSegmentAt(uint64_t addr);
  /// Unmaps [addr, addr + size) of an expandable segment if it is free. cost: O(free blocks)
  bool UnmapAt(uint64_t addr, uint64_t size_bytes);
  /// Calls of the driver are appended to `calls` from now on.
  void SetDriverLog(std::vector<DriverCall>* calls) { driver_log_ = calls; }

 private:
  enum class State : uint8_t { kFree, kUsed, kPending, kUnmapped };
  struct Block {
    uint64_t addr = 0;
    uint64_t size_bytes = 0;
    BlockId previous = kNoBlock;
    BlockId next = kNoBlock;
    uint32_t stream = 0;
    uint32_t pool = 0;  // → pools_
    State state = State::kFree;
    bool is_expandable = false;
    uint64_t free_since = 0;  // searches of its pool until it became free
  };
  struct Pool {
    uint32_t id = 0;
    bool is_small = false;
    FreeList free;
    FreeList unmapped;
    uint64_t search_count = 0;
  };

  uint32_t PoolIndex(uint32_t pool, bool small);
  BlockId NewBlock(const Block& block);
  void Recycle(BlockId block) { unused_.push_back(block); }
  FreeEntry EntryOf(BlockId block) const;
  void Insert(BlockId block);
  void Remove(BlockId block);
  void SetReserved(uint64_t reserved_bytes);
  void LogCall(DriverCall::Kind kind, uint64_t addr, uint64_t size_bytes);
  uint64_t TakeAddress(uint64_t size_bytes);
  bool HasRoom(uint64_t size_bytes) const {
    return !limit_bytes_ || (reserved_bytes_ <= *limit_bytes_ && size_bytes <= *limit_bytes_ - reserved_bytes_);
  }

  BlockId FindFree(Pool& pool, uint32_t stream, uint64_t size_bytes);
  BlockId FindOrGrow(uint32_t pool, uint32_t stream, uint64_t size_bytes);
  BlockId NewSegment(uint32_t pool, uint32_t stream, uint64_t size_bytes);
  BlockId SplitAt(BlockId block, uint64_t size_bytes);
  bool Splits(const Block& block, uint64_t size_bytes) const;
  void Absorb(BlockId block, BlockId neighbour);
  void MergeFree(BlockId block);

  // Expandable segments (sim/expandable_segments.cpp).
  uint64_t PageBytes(const Block& block) const;
  uint64_t RoomOf(BlockId block) const;
  BlockId GrowExpandable(uint32_t pool, uint32_t stream, uint64_t size_bytes);
  BlockId GrowthStart(uint32_t pool, uint32_t stream, uint64_t size_bytes);
  bool Map(BlockId block, uint64_t wanted_bytes);
  void Unmap(BlockId block, uint64_t begin, uint64_t end);
  void UnmapWholePages(BlockId block);

  // What is given back (sim/release.cpp).
  bool IsWholeSegment(const Block& block) const {
    return !block.is_expandable && block.previous == kNoBlock && block.next == kNoBlock;
  }
  void ReleaseSegment(BlockId block);
  bool ReleaseOversize(uint32_t pool, uint32_t stream, uint64_t size_bytes);
  void CollectGarbage();
  BlockId FindFreeAt(uint64_t addr) const;

  std::optional<uint64_t> limit_bytes_;
  AllocatorSettings settings_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  std::vector<Pool> pools_;
  std::map<std::pair<uint32_t, bool>, uint32_t> pool_index_;
  std::optional<uint64_t> given_addr_;
  uint64_t next_addr_ = uint64_t{1} << 40;
  uint64_t allocated_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;
  uint64_t peak_reserved_bytes_ = 0;
  uint64_t flush_count_ = 0;
  std::vector<DriverCall>* driver_log_ = nullptr;
};

}  // namespace memstrata::sim
