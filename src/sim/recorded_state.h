#pragma once
// What a replay takes from a recording besides its events: the allocator's settings, and the segments and blocks that
// existed before the first event.

#include <optional>
#include <vector>

#include "model/store/store.h"
#include "sim/caching_allocator.h"

namespace memstrata::sim {

/// Whether the heap is one of PyTorch's caching allocator with events: only such heaps can be replayed.
bool CanReplay(const Heap& heap);

/// As the snapshot's `allocator_settings` say; defaults where it has none.
AllocatorSettings RecordedSettings(const Store& store, const Heap& heap);

/// Pool number of the model for a row of the store's pools: 0 is the default pool, also where none is recorded.
uint32_t ModelPool(const Store& store, uint32_t pool);

/// How much the device gave this allocator: what it held and what was free when a request failed. Nothing when no
/// failure was recorded. Other users of the device are taken to have held the same all the time.
std::optional<uint64_t> RecordedLimit(const Store& store, const Heap& heap);

/// Puts the segments and blocks from before the first event into the model. `block_of` is indexed by
/// allocation row - heap.allocations.begin; blocks that lie in no known segment stay kNoBlock.
void RestoreBeginning(const Store& store, const Heap& heap, CachingAllocator& allocator,
                      std::vector<BlockId>& block_of);

}  // namespace memstrata::sim
