#pragma once
// Phases of events from their order and sizes alone, for recordings without call stacks.

#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// A zero_grad gives back at least so many gradients in a row; fewer are taken for something else.
inline constexpr uint32_t kFewestDropped = 3;

/// The phase of each event of a heap. cost: O(events)
std::vector<Phase> LabelByOrder(const Store& store, const Heap& heap);

}  // namespace memstrata
