#pragma once
// Phases of events from their call stacks; events whose stack says nothing take theirs from their neighbours.

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

/// cost: O(events)
StackLabels LabelByStack(const Store& store, const Heap& heap, const StackEvidence& evidence,
                         std::span<const LoopJump> jumps);

}  // namespace memstrata
