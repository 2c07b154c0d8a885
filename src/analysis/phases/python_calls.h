#pragma once
// The call stacks of a session reduced to Python frames. With stacks="all" the interpreter's own frames stand between
// them and differ from call to call.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

struct PythonCalls {
  StackTree tree;                       // frame ids are those of the store
  std::vector<uint32_t> node_of_stack;  // by stack of the store

  const StackTable& stacks() const { return tree.stacks(); }
  uint32_t NodeOf(StackId stack) const { return node_of_stack[stack.value]; }
};

/// The same store gives the same nodes. cost: O(stack nodes)
PythonCalls FindPythonCalls(const Store& store);

}  // namespace memstrata
