#pragma once
// Turns decoded memory events into the heaps, events and lifetimes of the store: one heap a memory ID, events in true
// order, each free with the size of the block that it frees, and what lived before the recording as one block.
//
// Checks the recording against itself while doing so: an event's size must be the change of the heap. Where it is not,
// events are missing; the count becomes a diagnostic.

#include <string>

#include "model/store/store_builder.h"
#include "readers/xla/memory_events.h"

namespace memstrata::xla {

struct HeapContext {
  std::string host;
  int64_t unix_begin_ns = 0;  // profiler time zero; 0 = not known
  bool truncated = false;
};

/// Appends everything to `builder`'s store and frees `events` on the way.
/// Cost: O(n log r), r = number of threads; peak memory about 100 bytes an event on top of the result.
Status BuildHeaps(DecodedEvents events, const HeapContext& context, StoreBuilder& builder);

}  // namespace memstrata::xla
