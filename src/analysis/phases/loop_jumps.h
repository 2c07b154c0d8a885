#pragma once
// Where a program's loops start over, seen from call stacks alone: a call returns to something that it had called
// before what it called last, an earlier line of the same function or a function that it called earlier.

#include <vector>

#include "analysis/phases/python_calls.h"
#include "model/store/store.h"

namespace memstrata {

struct LoopJump {
  uint32_t seq = 0;        // the first event after the jump
  uint32_t loop_node = 0;  // of PythonCalls: under which the calls start over
  uint32_t from_node = 0;  // what it had called last
  uint32_t to_node = 0;    // what it calls again
};

/// With context="alloc" a free repeats the stack of its allocation, which says nothing about the free.
bool FreesHaveOwnStacks(const Store& store, const Heap& heap);

/// Jumps in order of events, at most one an event: the outermost. cost: O(events · depth of the part that changes)
std::vector<LoopJump> FindLoopJumps(const Store& store, const Heap& heap, const PythonCalls& calls);

/// Whether `node` is `ancestor` or was called from it.
bool IsCalledFrom(const StackTable& stacks, uint32_t node, uint32_t ancestor);

}  // namespace memstrata
