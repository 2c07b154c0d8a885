#pragma once
// The call stacks of a heap reduced to Python frames. With stacks="all" the interpreter's own frames stand between them
// and differ from call to call.

#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

struct PythonCalls {
  StackTree tree;                       // frame ids are those of the store
  std::vector<uint32_t> node_of_stack;  // by stack of the store
  std::vector<LoopJump> jumps;          // nodes of `tree`

  const StackTable& stacks() const { return tree.stacks(); }
};

/// `jumps_of_store`: what FindLoopJumps() says of the store's own stacks. cost: O(stack nodes), and that of
/// FindLoopJumps() where there are other frames than Python's
PythonCalls FindPythonCalls(const Store& store, const Heap& heap, const std::vector<LoopJump>& jumps_of_store);

}  // namespace memstrata
