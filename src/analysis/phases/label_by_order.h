#pragma once
// Phases of events from their order and sizes alone, for recordings without call stacks.

#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// The phase of each event of a heap. cost: O(events)
std::vector<Phase> LabelByOrder(const Store& store, const Heap& heap);

}  // namespace memstrata
