#include "sim/caching_allocator.h"

#include <algorithm>

namespace memstrata::sim {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

uint64_t SegmentBytes(uint64_t block_bytes) {
  if (block_bytes <= kSmallRequestBytes) return kSmallSegmentBytes;
  if (block_bytes < kMediumRequestBytes) return kMediumSegmentBytes;
  return RoundUp(block_bytes, kLargeStepBytes);
}

uint32_t CachingAllocator::PoolIndex(uint32_t pool, bool small) {
  const auto [found, is_new] = pool_index_.emplace(std::pair(pool, small), static_cast<uint32_t>(pools_.size()));
  if (is_new) pools_.push_back({pool, small, {}, {}, 0});
  return found->second;
}

BlockId CachingAllocator::NewBlock(const Block& block) {
  if (unused_.empty()) {
    blocks_.push_back(block);
    return static_cast<BlockId>(blocks_.size() - 1);
  }
  const BlockId id = unused_.back();
  unused_.pop_back();
  blocks_[id] = block;
  return id;
}

FreeEntry CachingAllocator::EntryOf(BlockId id) const {
  const Block& block = blocks_[id];
  return {block.stream, id, block.state == State::kUnmapped ? 0 : block.size_bytes, block.addr};
}

void CachingAllocator::Insert(BlockId id) {
  Block& block = blocks_[id];
  Pool& pool = pools_[block.pool];
  block.free_since = pool.search_count;
  (block.state == State::kUnmapped ? pool.unmapped : pool.free).Insert(EntryOf(id));
}

void CachingAllocator::Remove(BlockId id) {
  const Block& block = blocks_[id];
  Pool& pool = pools_[block.pool];
  (block.state == State::kUnmapped ? pool.unmapped : pool.free).Erase(EntryOf(id));
}

void CachingAllocator::SetReserved(uint64_t reserved_bytes) {
  reserved_bytes_ = reserved_bytes;
  peak_reserved_bytes_ = std::max(peak_reserved_bytes_, reserved_bytes_);
}

void CachingAllocator::LogCall(DriverCall::Kind kind, uint64_t addr, uint64_t size_bytes) {
  if (driver_log_ != nullptr) driver_log_->push_back({kind, addr, size_bytes});
}

uint64_t CachingAllocator::TakeAddress(uint64_t size_bytes) {
  const uint64_t addr = given_addr_.value_or(next_addr_);
  given_addr_.reset();
  next_addr_ = std::max(next_addr_, addr + RoundUp(size_bytes, kLargeStepBytes));
  return addr;
}

// First the smallest block that is large enough, the lowest address among equals. A rejection is final: it asks the
// driver instead of looking further.
BlockId CachingAllocator::FindFree(Pool& pool, uint32_t stream, uint64_t size_bytes) {
  ++pool.search_count;
  auto it = pool.free.LowerBound({stream, 0, size_bytes, 0});
  const auto is_end = [&](auto at) { return at == pool.free.end() || at->stream != stream; };
  if (is_end(it)) return kNoBlock;
  if (blocks_[it->block].is_expandable && settings_.expandable_segments) {
    // An expandable block counts as large as it can become.
    for (auto next = it; blocks_[it->block].is_expandable && !is_end(++next); it = next) {
      if (RoomOf(next->block) >= RoomOf(it->block)) break;
    }
  } else {
    while (!is_end(it) && blocks_[it->block].is_expandable && !settings_.expandable_segments) ++it;
    if (is_end(it)) return kNoBlock;
  }
  const uint64_t found_bytes = it->size_bytes;
  const bool is_oversize = found_bytes >= settings_.max_split_bytes;
  if (size_bytes < settings_.max_split_bytes && is_oversize) return kNoBlock;
  if (size_bytes >= settings_.max_split_bytes && found_bytes >= size_bytes + settings_.max_non_split_rounding_bytes)
    return kNoBlock;
  const BlockId block = it->block;
  pool.free.Erase(it);
  return block;
}

BlockId CachingAllocator::NewSegment(uint32_t pool, uint32_t stream, uint64_t size_bytes) {
  if (settings_.expandable_segments) return GrowExpandable(pool, stream, size_bytes);
  const uint64_t segment_bytes = SegmentBytes(size_bytes);
  if (!HasRoom(segment_bytes)) return kNoBlock;
  SetReserved(reserved_bytes_ + segment_bytes);
  Block block;
  block.addr = TakeAddress(segment_bytes);
  block.size_bytes = segment_bytes;
  block.stream = stream;
  block.pool = pool;
  LogCall(DriverCall::Kind::kAlloc, block.addr, segment_bytes);
  return NewBlock(block);
}

// What happens between "no free block fits" and failure, in the allocator's order.
BlockId CachingAllocator::FindOrGrow(uint32_t pool, uint32_t stream, uint64_t size_bytes) {
  BlockId block = FindFree(pools_[pool], stream, size_bytes);
  if (block != kNoBlock) return block;
  if (settings_.garbage_collection_threshold > 0 && limit_bytes_) CollectGarbage();
  block = NewSegment(pool, stream, size_bytes);
  if (block == kNoBlock && settings_.max_split_bytes != kUnlimitedBytes && ReleaseOversize(pool, stream, size_bytes))
    block = NewSegment(pool, stream, size_bytes);
  if (block != kNoBlock) return block;
  ++flush_count_;
  EmptyCache();
  return NewSegment(pool, stream, size_bytes);
}

bool CachingAllocator::Splits(const Block& block, uint64_t size_bytes) const {
  const uint64_t rest_bytes = block.size_bytes - size_bytes;
  if (pools_[block.pool].is_small || settings_.expandable_segments)
    return rest_bytes >= BlockRounding::kSmallestBlockBytes;
  return size_bytes < settings_.max_split_bytes && rest_bytes > kSmallRequestBytes;
}

// Cuts the block to `size_bytes` and returns what is behind it, linked and in the same state, in no list yet.
BlockId CachingAllocator::SplitAt(BlockId id, uint64_t size_bytes) {
  Block rest = blocks_[id];
  rest.addr += size_bytes;
  rest.size_bytes -= size_bytes;
  rest.previous = id;
  const BlockId rest_id = NewBlock(rest);
  if (rest.next != kNoBlock) blocks_[rest.next].previous = rest_id;
  blocks_[id].next = rest_id;
  blocks_[id].size_bytes = size_bytes;
  return rest_id;
}

// `neighbour` lies directly before or behind the block and is in no list.
void CachingAllocator::Absorb(BlockId id, BlockId neighbour) {
  Block& block = blocks_[id];
  const Block& other = blocks_[neighbour];
  if (block.previous == neighbour) {
    block.addr = other.addr;
    block.previous = other.previous;
    if (block.previous != kNoBlock) blocks_[block.previous].next = id;
  } else {
    block.next = other.next;
    if (block.next != kNoBlock) blocks_[block.next].previous = id;
  }
  block.size_bytes += other.size_bytes;
  Recycle(neighbour);
}

// Merges with neighbours in the same state and puts the result into its list.
void CachingAllocator::MergeFree(BlockId id) {
  for (const BlockId neighbour : {blocks_[id].previous, blocks_[id].next}) {
    if (neighbour == kNoBlock || blocks_[neighbour].state != blocks_[id].state) continue;
    Remove(neighbour);
    Absorb(id, neighbour);
  }
  Insert(id);
}

BlockId CachingAllocator::Allocate(uint64_t requested_bytes, uint32_t stream, uint32_t pool) {
  if (requested_bytes >= kRequestCeilingBytes) return kNoBlock;
  const uint64_t size_bytes =
      std::max(settings_.rounding.BlockBytes(requested_bytes), BlockRounding::kSmallestBlockBytes);
  const BlockId id = FindOrGrow(PoolIndex(pool, size_bytes <= kSmallRequestBytes), stream, size_bytes);
  given_addr_.reset();
  if (id == kNoBlock) return kNoBlock;
  if (Splits(blocks_[id], size_bytes)) {
    const BlockId rest = SplitAt(id, size_bytes);
    blocks_[rest].state = State::kFree;
    Insert(rest);
  }
  blocks_[id].state = State::kUsed;
  allocated_bytes_ += blocks_[id].size_bytes;
  return id;
}

void CachingAllocator::Free(BlockId id) {
  allocated_bytes_ -= blocks_[id].size_bytes;
  blocks_[id].state = State::kFree;
  MergeFree(id);
}

uint64_t CachingAllocator::LargestFreeBytes(uint32_t stream, bool small) const {
  uint64_t largest_bytes = 0;
  const auto found = pool_index_.find({0, small});
  if (found == pool_index_.end()) return 0;
  for (const FreeEntry& entry : pools_[found->second].free) {
    if (entry.stream == stream) largest_bytes = std::max(largest_bytes, entry.size_bytes);
  }
  return largest_bytes;
}

void CachingAllocator::AddSegment(uint64_t addr, uint64_t size_bytes, uint32_t stream, uint32_t pool, bool small,
                                  bool expandable, uint64_t tail_bytes) {
  Block block;
  block.addr = addr;
  block.size_bytes = size_bytes;
  block.stream = stream;
  block.pool = PoolIndex(pool, small);
  block.is_expandable = expandable;
  next_addr_ = std::max(next_addr_, addr + RoundUp(size_bytes + tail_bytes, kLargeStepBytes));
  SetReserved(reserved_bytes_ + size_bytes);
  const BlockId id = NewBlock(block);
  if (tail_bytes > 0) {
    blocks_[id].size_bytes += tail_bytes;
    const BlockId tail = SplitAt(id, size_bytes);
    blocks_[tail].state = State::kUnmapped;
    Insert(tail);
  }
  Insert(id);
}

BlockId CachingAllocator::FindFreeAt(uint64_t addr) const {
  for (const Pool& pool : pools_) {
    for (const FreeEntry& entry : pool.free) {
      if (entry.addr <= addr && addr - entry.addr < entry.size_bytes) return entry.block;
    }
  }
  return kNoBlock;
}

BlockId CachingAllocator::TakeAt(uint64_t addr, uint64_t size_bytes, uint32_t stream) {
  BlockId id = FindFreeAt(addr);
  if (id == kNoBlock || blocks_[id].stream != stream) return kNoBlock;
  const uint64_t before_bytes = addr - blocks_[id].addr;
  if (blocks_[id].size_bytes - before_bytes < size_bytes) return kNoBlock;
  Remove(id);
  if (before_bytes > 0) {
    const BlockId head = id;
    id = SplitAt(head, before_bytes);
    Insert(head);
  }
  if (blocks_[id].size_bytes > size_bytes) Insert(SplitAt(id, size_bytes));
  blocks_[id].state = State::kUsed;
  allocated_bytes_ += size_bytes;
  return id;
}

}  // namespace memstrata::sim
