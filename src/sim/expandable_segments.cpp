// Expandable segments of the allocator model: one large range of addresses for each stream and pool, of which pages are
// mapped when they are needed and unmapped when they are given back.

#include <algorithm>

#include "sim/caching_allocator.h"

namespace memstrata::sim {
namespace {

// The real range is 9/8 of the device's whole memory, which no recording says: what this allocator may have is less. A
// range of 4 TiB has no end on any device.
constexpr uint64_t kRangeBytes = uint64_t{1} << 42;

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

uint64_t CachingAllocator::PageBytes(const Block& block) const {
  return pools_[block.pool].is_small ? kSmallSegmentBytes : kMediumSegmentBytes;
}

uint64_t CachingAllocator::RoomOf(BlockId id) const {
  const Block& block = blocks_[id];
  const bool can_grow = block.next != kNoBlock && blocks_[block.next].state == State::kUnmapped;
  return block.size_bytes + (can_grow ? blocks_[block.next].size_bytes : 0);
}

// The free or unmapped block from which a run of free and unmapped space of `size_bytes` begins; a new range if there
// is none.
BlockId CachingAllocator::GrowthStart(uint32_t pool, uint32_t stream, uint64_t size_bytes) {
  const auto is_idle = [&](BlockId id) {
    return id != kNoBlock && (blocks_[id].state == State::kFree || blocks_[id].state == State::kUnmapped);
  };
  const FreeList& unmapped = pools_[pool].unmapped;
  for (auto it = unmapped.LowerBound({stream, 0, 0, 0}); it != unmapped.end() && it->stream == stream; ++it) {
    const BlockId start = is_idle(blocks_[it->block].previous) ? blocks_[it->block].previous : it->block;
    uint64_t run_bytes = 0;
    for (BlockId id = start; is_idle(id) && run_bytes < size_bytes; id = blocks_[id].next)
      run_bytes += blocks_[id].size_bytes;
    if (run_bytes >= size_bytes) return start;
  }
  Block range;
  range.stream = stream;
  range.pool = pool;
  range.state = State::kUnmapped;
  range.is_expandable = true;
  range.size_bytes = std::max(kRangeBytes, RoundUp(size_bytes, kMediumSegmentBytes));
  range.addr = TakeAddress(range.size_bytes);
  const BlockId id = NewBlock(range);
  Insert(id);
  return id;
}

BlockId CachingAllocator::GrowExpandable(uint32_t pool, uint32_t stream, uint64_t size_bytes) {
  BlockId id = GrowthStart(pool, stream, size_bytes);
  if (blocks_[id].state == State::kUnmapped && !Map(id, size_bytes)) return kNoBlock;
  while (blocks_[id].size_bytes < size_bytes) {
    const BlockId behind = blocks_[id].next;  // free blocks are merged, so what follows is unmapped
    if (!Map(behind, size_bytes - blocks_[id].size_bytes)) return kNoBlock;
    id = behind;  // it has absorbed the block before it
  }
  Remove(id);
  return id;
}

// Maps the first pages of an unmapped block; the result, merged with free neighbours, is in the free list.
bool CachingAllocator::Map(BlockId id, uint64_t wanted_bytes) {
  const uint64_t mapped_bytes =
      std::min(RoundUp(std::min(wanted_bytes, blocks_[id].size_bytes), PageBytes(blocks_[id])), blocks_[id].size_bytes);
  if (!HasRoom(mapped_bytes)) return false;
  Remove(id);
  if (mapped_bytes < blocks_[id].size_bytes) Insert(SplitAt(id, mapped_bytes));
  blocks_[id].state = State::kFree;
  SetReserved(reserved_bytes_ + mapped_bytes);
  LogCall(DriverCall::Kind::kMap, blocks_[id].addr, mapped_bytes);
  MergeFree(id);
  return true;
}

// Unmaps [begin, end) of a free block; its head and tail stay free.
void CachingAllocator::Unmap(BlockId id, uint64_t begin, uint64_t end) {
  Remove(id);
  if (begin > blocks_[id].addr) {
    const BlockId head = id;
    id = SplitAt(head, begin - blocks_[head].addr);
    Insert(head);
  }
  if (end < blocks_[id].addr + blocks_[id].size_bytes) Insert(SplitAt(id, end - blocks_[id].addr));
  blocks_[id].state = State::kUnmapped;
  SetReserved(reserved_bytes_ - blocks_[id].size_bytes);
  LogCall(DriverCall::Kind::kUnmap, blocks_[id].addr, blocks_[id].size_bytes);
  MergeFree(id);
  if (blocks_[id].previous == kNoBlock && blocks_[id].next == kNoBlock) {  // nothing is mapped: the range goes
    Remove(id);
    Recycle(id);
  }
}

void CachingAllocator::UnmapWholePages(BlockId id) {
  BlockId first = id;
  while (blocks_[first].previous != kNoBlock) first = blocks_[first].previous;
  const uint64_t base = blocks_[first].addr;
  const uint64_t page_bytes = PageBytes(blocks_[id]);
  const uint64_t begin = base + RoundUp(blocks_[id].addr - base, page_bytes);
  const uint64_t end = base + (blocks_[id].addr + blocks_[id].size_bytes - base) / page_bytes * page_bytes;
  if (begin < end) Unmap(id, begin, end);
}

bool CachingAllocator::UnmapAt(uint64_t addr, uint64_t size_bytes) {
  const BlockId id = FindFreeAt(addr);
  if (id == kNoBlock || !blocks_[id].is_expandable) return false;
  if (blocks_[id].addr + blocks_[id].size_bytes - addr < size_bytes) return false;
  Unmap(id, addr, addr + size_bytes);
  return true;
}

}  // namespace memstrata::sim
