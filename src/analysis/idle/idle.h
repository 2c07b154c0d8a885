#pragma once
// Memory that is reserved but not in use in the final state of a heap, and why no request can simply have it.

#include <optional>

#include "model/store/store.h"

namespace memstrata {

/// idle = Σ segments - Σ block sizes in use (pending included). The kinds are disjoint and add up to idle; a hole
/// counts as the first that fits, in this order.
struct IdleBytes {
  uint64_t idle_bytes = 0;
  uint64_t private_pool_bytes = 0;   // in a private pool: serves only its own graph or MemPool
  uint64_t whole_segment_bytes = 0;  // a segment with nothing in use: a flush would return it
  uint64_t stream_bytes = 0;         // on a stream without an event in the last tenth of the trace
  uint64_t split_bytes = 0;          // beside live blocks
  uint64_t largest_idle_bytes = 0;   // largest hole that one request could use
  uint64_t rounding_bytes = 0;       // Σ (block - requested) of blocks in use
  uint64_t block_bytes = 0;          // Σ block sizes in use
  uint64_t reserved_bytes = 0;       // Σ segments

  /// 1 - largest hole / idle: 0 when one request could use all idle memory.
  double Fraction() const {
    return idle_bytes == 0 ? 0.0 : 1.0 - static_cast<double>(largest_idle_bytes) / static_cast<double>(idle_bytes);
  }
};

/// Nothing when the final state is not in the file. cost: O(blocks + events)
std::optional<IdleBytes> FindIdle(const Store& store, const Heap& heap);

}  // namespace memstrata
