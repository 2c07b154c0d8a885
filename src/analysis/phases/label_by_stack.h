#pragma once
// Phases of events from their call stacks; events whose stack says nothing take theirs from their neighbours.

#include <optional>
#include <span>
#include <vector>

#include "analysis/phases/loop_jumps.h"
#include "analysis/phases/phase.h"
#include "analysis/phases/stack_evidence.h"
#include "model/store/store.h"

namespace memstrata {

/// Whether enough of a heap's allocations carry stacks for this to mean something.
bool HasEventStacks(const Store& store, const Heap& heap);

struct StackLabels {
  std::vector<Phase> phase;    // of each event
  std::vector<bool> is_plain;  // the stack names no phase: work of the program itself
};

/// `named`: the phases that the program itself named, for events whose stack names none. cost: O(events)
StackLabels LabelByStack(const Store& store, const Heap& heap, const PythonCalls& calls, const StackEvidence& evidence,
                         std::span<const LoopJump> jumps, std::span<const std::optional<Phase>> named);

}  // namespace memstrata
