#pragma once
// What a program's own annotations (record_function, the profiler's step, user metadata) say about phases and steps.

#include <optional>
#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// By event, the phase that the program itself named: by the innermost range around it ("## forward ##",
/// "Optimizer.step#AdamW.step") or in the metadata of the event ("forward"). cost: O(events + events in annotations)
std::vector<std::optional<Phase>> PhasesNamedByProgram(const Store& store, const Heap& heap);

/// First events of the steps that the program named ("ProfilerStep#3", "train_step 7"), ascending; of steps in steps
/// the outer ones. Empty without at least two.
std::vector<uint32_t> StepsByAnnotations(const Store& store, const Heap& heap);

}  // namespace memstrata
