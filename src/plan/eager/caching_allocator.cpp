#include "plan/eager/caching_allocator.h"

#include <algorithm>

namespace memstrata::plan::eager {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMinBlockBytes = 512;
constexpr uint64_t kSmallRequestBytes = 1 * kMiB;
constexpr uint64_t kSmallSegmentBytes = 2 * kMiB;
constexpr uint64_t kMediumRequestBytes = 10 * kMiB;
constexpr uint64_t kMediumSegmentBytes = 20 * kMiB;
constexpr uint64_t kLargeStepBytes = 2 * kMiB;

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

uint64_t SegmentSize(uint64_t size_bytes) {
  if (size_bytes <= kSmallRequestBytes) return kSmallSegmentBytes;
  if (size_bytes < kMediumRequestBytes) return kMediumSegmentBytes;
  return RoundUp(size_bytes, kLargeStepBytes);
}

}  // namespace

uint64_t CachingAllocator::RoundSize(uint64_t requested_bytes) {
  return std::max(kMinBlockBytes, RoundUp(requested_bytes, kMinBlockBytes));
}

CachingAllocator::Pool& CachingAllocator::PoolOf(const Block& block) {
  return segment_is_small_[block.segment] ? small_ : large_;
}

CachingAllocator::Block* CachingAllocator::TakeFree(Pool& pool, uint64_t size_bytes) {
  Block key;
  key.size_bytes = size_bytes;
  const auto found = pool.lower_bound(&key);
  if (found == pool.end()) return nullptr;
  Block* block = *found;
  pool.erase(found);
  return block;
}

CachingAllocator::Block* CachingAllocator::NewSegment(uint64_t size_bytes) {
  const uint64_t segment_bytes = SegmentSize(size_bytes);
  if (limit_bytes_ && reserved_bytes_ + segment_bytes > *limit_bytes_) return nullptr;
  Block block;
  block.address = next_address_;
  block.size_bytes = segment_bytes;
  block.segment = static_cast<uint32_t>(segment_is_small_.size());
  next_address_ += segment_bytes;
  segment_is_small_.push_back(size_bytes <= kSmallRequestBytes);
  reserved_bytes_ += segment_bytes;
  peak_reserved_bytes_ = std::max(peak_reserved_bytes_, reserved_bytes_);
  blocks_.push_back(block);
  blocks_.back().self = std::prev(blocks_.end());
  return &blocks_.back();
}

void CachingAllocator::SplitAfter(Block* block, uint64_t size_bytes, Pool& pool) {
  const uint64_t rest_bytes = block->size_bytes - size_bytes;
  const bool splits = &pool == &small_ ? rest_bytes >= kMinBlockBytes : rest_bytes > kSmallRequestBytes;
  if (!splits) return;
  Block rest = *block;
  rest.address += size_bytes;
  rest.size_bytes = rest_bytes;
  const auto at = blocks_.insert(std::next(block->self), rest);
  at->self = at;
  block->size_bytes = size_bytes;
  pool.insert(&*at);
}

void CachingAllocator::Flush(Pool& pool) {
  for (auto it = pool.begin(); it != pool.end();) {
    Block* block = *it;
    const auto next = std::next(block->self);
    const bool first = block->self == blocks_.begin() || std::prev(block->self)->segment != block->segment;
    const bool last = next == blocks_.end() || next->segment != block->segment;
    if (!first || !last) {
      ++it;
      continue;
    }
    it = pool.erase(it);
    reserved_bytes_ -= block->size_bytes;
    blocks_.erase(block->self);
  }
}

CachingAllocator::Block* CachingAllocator::Allocate(uint64_t requested_bytes) {
  const uint64_t size_bytes = RoundSize(requested_bytes);
  Pool& pool = size_bytes <= kSmallRequestBytes ? small_ : large_;
  Block* block = TakeFree(pool, size_bytes);
  if (block == nullptr) block = NewSegment(size_bytes);
  if (block == nullptr) {
    ++flush_count_;
    Flush(large_);
    Flush(small_);
    block = NewSegment(size_bytes);
  }
  if (block == nullptr) return nullptr;
  SplitAfter(block, size_bytes, pool);
  block->in_use = true;
  allocated_bytes_ += block->size_bytes;
  return block;
}

void CachingAllocator::Free(Block* block) {
  Pool& pool = PoolOf(*block);
  block->in_use = false;
  allocated_bytes_ -= block->size_bytes;
  const auto next = std::next(block->self);
  if (next != blocks_.end() && next->segment == block->segment && !next->in_use) {
    pool.erase(&*next);
    block->size_bytes += next->size_bytes;
    blocks_.erase(next);
  }
  if (block->self != blocks_.begin()) {
    const auto previous = std::prev(block->self);
    if (previous->segment == block->segment && !previous->in_use) {
      pool.erase(&*previous);
      previous->size_bytes += block->size_bytes;
      blocks_.erase(block->self);
      block = &*previous;
    }
  }
  pool.insert(block);
}

}  // namespace memstrata::plan::eager
