#pragma once
// Which steps a recording holds whole.

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// A step is not complete when it lacks a part that most steps have (the recording starts or ends in it), or when a
/// request failed in it before its update. cost: O(events)
void MarkIncompleteSteps(const Store& store, const Heap& heap, Timeline& timeline);

}  // namespace memstrata
