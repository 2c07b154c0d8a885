// What the allocator model gives back to the device: by empty_cache(), when a threshold is passed, and before it fails.

#include <algorithm>

#include "sim/caching_allocator.h"

namespace memstrata::sim {

void CachingAllocator::ReleaseSegment(BlockId id) {
  Remove(id);
  SetReserved(reserved_bytes_ - blocks_[id].size_bytes);
  LogCall(DriverCall::Kind::kFree, blocks_[id].addr, blocks_[id].size_bytes);
  Recycle(id);
}

void CachingAllocator::EmptyCache() {
  for (const bool small : {false, true}) {
    const auto found = pool_index_.find({0, small});
    if (found == pool_index_.end()) continue;
    std::vector<BlockId> candidates;
    for (const FreeEntry& entry : pools_[found->second].free) candidates.push_back(entry.block);
    for (const BlockId id : candidates) {
      if (blocks_[id].is_expandable) {
        UnmapWholePages(id);
      } else if (IsWholeSegment(blocks_[id])) {
        ReleaseSegment(id);
      }
    }
  }
}

// With a limit on splitting, blocks above it are kept whole and given back first: the smallest one that suffices, else
// the largest ones until they do.
bool CachingAllocator::ReleaseOversize(uint32_t pool_index, uint32_t stream, uint64_t size_bytes) {
  const uint64_t wanted_bytes = std::max(size_bytes, settings_.max_split_bytes);
  const Pool& pool = pools_[pool_index];
  std::vector<BlockId> whole;
  for (auto it = pool.free.LowerBound({stream, 0, settings_.max_split_bytes, 0});
       it != pool.free.end() && it->stream == stream; ++it) {
    if (IsWholeSegment(blocks_[it->block])) whole.push_back(it->block);
  }
  const auto sufficient =
      std::find_if(whole.begin(), whole.end(), [&](BlockId id) { return blocks_[id].size_bytes >= wanted_bytes; });
  if (sufficient != whole.end()) {
    ReleaseSegment(*sufficient);
    return true;
  }
  uint64_t released_bytes = 0;
  for (auto it = whole.rbegin(); it != whole.rend() && released_bytes < wanted_bytes; ++it) {
    released_bytes += blocks_[*it].size_bytes;
    ReleaseSegment(*it);
  }
  return released_bytes >= wanted_bytes;
}

// Above the threshold: gives back whole segments of the large pool that were idle for longer than the average, until
// enough is gone. Age is counted in searches of the pool.
void CachingAllocator::CollectGarbage() {
  const auto threshold_bytes =
      static_cast<uint64_t>(settings_.garbage_collection_threshold * static_cast<double>(*limit_bytes_));
  if (reserved_bytes_ <= threshold_bytes) return;
  const uint64_t target_bytes = reserved_bytes_ - threshold_bytes;
  const Pool& pool = pools_[PoolIndex(0, false)];
  uint64_t released_bytes = 0;
  while (released_bytes < target_bytes) {
    std::vector<BlockId> whole;
    uint64_t age_sum = 0;
    for (const FreeEntry& entry : pool.free) {
      if (!IsWholeSegment(blocks_[entry.block])) continue;
      whole.push_back(entry.block);
      age_sum += pool.search_count - blocks_[entry.block].free_since;
    }
    if (whole.empty()) return;
    const uint64_t average_age = age_sum / whole.size();
    for (const BlockId id : whole) {
      if (released_bytes >= target_bytes) break;
      if (pool.search_count - blocks_[id].free_since < average_age) continue;
      released_bytes += blocks_[id].size_bytes;
      ReleaseSegment(id);
    }
  }
}

bool CachingAllocator::ReleaseSegmentAt(uint64_t addr) {
  const BlockId id = FindFreeAt(addr);
  if (id == kNoBlock || blocks_[id].addr != addr || !IsWholeSegment(blocks_[id])) return false;
  ReleaseSegment(id);
  return true;
}

}  // namespace memstrata::sim
