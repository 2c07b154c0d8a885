#pragma once
// What a program's own annotations (record_function, the profiler's step) say about phases and steps.

#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Gives the events inside of annotations that name a phase ("## forward ##", "Optimizer.step#AdamW.step") that phase.
/// False when there are none. cost: O(annotations + events in them)
bool LabelByAnnotations(const Store& store, const Heap& heap, std::vector<Phase>& phases);

/// First events of the profiler's steps ("ProfilerStep#3"), ascending; empty without at least two.
std::vector<uint32_t> StepsByAnnotations(const Store& store, const Heap& heap);

}  // namespace memstrata
