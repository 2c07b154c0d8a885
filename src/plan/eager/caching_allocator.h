#pragma once
// A model of PyTorch's CUDA caching allocator (default settings, one stream): rounding, two pools, best fit, splitting,
// merging, and the flush of cached segments before it gives up. It holds no memory, it only counts.
//
// Source of the rules: the constants and steps of c10/cuda/CUDACachingAllocator in PyTorch 2.7 (512 B rounding; up to
// 1 MiB from 2 MiB segments, up to 10 MiB from 20 MiB segments, larger ones in multiples of 2 MiB; a large block is
// split only when more than 1 MiB remains).

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <vector>

namespace memstrata::plan::eager {

class CachingAllocator {
 public:
  /// `limit_bytes`: what the device gives to segments; nothing means without end.
  explicit CachingAllocator(std::optional<uint64_t> limit_bytes) : limit_bytes_(limit_bytes) {}

  struct Block {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint32_t segment = 0;
    bool in_use = false;
    std::list<Block>::iterator self;
  };

  /// The block for a request, or nullptr when the device is full even after a flush. Cost O(log blocks).
  Block* Allocate(uint64_t requested_bytes);
  void Free(Block* block);

  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t peak_reserved_bytes() const { return peak_reserved_bytes_; }
  /// How often cached segments had to be given back to the device to go on.
  uint64_t flush_count() const { return flush_count_; }

  /// From now on the device has no end (to learn how much would have been needed after it ran out).
  void LiftLimit() { limit_bytes_.reset(); }

  static uint64_t RoundSize(uint64_t requested_bytes);

 private:
  struct BestFit {
    bool operator()(const Block* a, const Block* b) const {
      return a->size_bytes != b->size_bytes ? a->size_bytes < b->size_bytes : a->address < b->address;
    }
  };
  using Pool = std::set<Block*, BestFit>;

  Block* TakeFree(Pool& pool, uint64_t size_bytes);
  Block* NewSegment(uint64_t size_bytes);
  void SplitAfter(Block* block, uint64_t size_bytes, Pool& pool);
  void Flush(Pool& pool);
  Pool& PoolOf(const Block& block);

  std::optional<uint64_t> limit_bytes_;
  std::list<Block> blocks_;  // in address order
  Pool small_;
  Pool large_;
  std::vector<bool> segment_is_small_;
  uint64_t next_address_ = uint64_t{1} << 40;
  uint64_t allocated_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;
  uint64_t peak_reserved_bytes_ = 0;
  uint64_t flush_count_ = 0;
};

}  // namespace memstrata::plan::eager
