#pragma once
// Memory that is reserved and idle at one moment: of which kind, what a flush would give back, which live blocks pin
// which segments, and what a request could still have.

#include <vector>

#include "index/heap_state.h"

namespace memstrata {

/// A segment that cannot be given back because blocks of it are live.
struct PinnedSegment {
  uint64_t addr = 0;
  uint64_t size_bytes = 0;
  uint64_t live_bytes = 0;  // Σ block sizes
  uint64_t hole_bytes = 0;
  uint32_t block_count = 0;
  uint32_t largest_allocation = kNone;  // row of its largest block
};

struct Fragmentation {
  Moment at;
  uint64_t reserved_bytes = 0;
  uint64_t block_bytes = 0;  // Σ block sizes in use
  uint64_t idle_bytes = 0;
  uint64_t kind_bytes[4] = {};  // by HoleKind
  uint64_t hole_count = 0;
  uint64_t largest_hole_bytes = 0;
  uint64_t recoverable_bytes = 0;     // by a flush: whole segments, and whole pages of expandable ones
  uint64_t needed_bytes = 0;          // the request that it is judged by
  uint64_t hard_bytes = 0;            // not recoverable, and in holes smaller than the request
  uint64_t pinned_bytes = 0;          // Σ sizes of pinned segments
  uint64_t pinning_bytes = 0;         // Σ live blocks in them
  bool is_approximate = false;        // HeapState::is_approximate
  std::vector<PinnedSegment> pinned;  // largest holes first; all of them
};

/// `needed_bytes`: the request that failed, or one that is typical for the program.
/// cost: O(allocations + segments)
Fragmentation FindFragmentation(const Store& store, const Heap& heap, Moment at, uint64_t needed_bytes);

/// The cheapest way to one hole of `needed_bytes` on a stream of the default pool: the live bytes that would have to
/// lie elsewhere. Nothing when no segment is large enough.
struct Clearing {
  uint64_t live_bytes = 0;
  uint32_t block_count = 0;
  uint64_t segment_addr = 0;
};
std::optional<Clearing> CheapestClearing(const Store& store, const HeapState& state, uint32_t stream,
                                         uint64_t needed_bytes);

}  // namespace memstrata
