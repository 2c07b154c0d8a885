#pragma once
// Steps and phases of a heap.

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// By call stacks where events have them, else by the order and sizes of events alone; heaps of XLA have none.
/// Times are not used.
/// cost: O(events)
Timeline FindTimeline(const Store& store, const Heap& heap);

}  // namespace memstrata
