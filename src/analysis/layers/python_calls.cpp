#include "analysis/layers/python_calls.h"

#include "analysis/frames/useful_frame.h"

namespace memstrata {

PythonCalls FindPythonCalls(const Store& store, const Heap& heap, const std::vector<LoopJump>& jumps_of_store) {
  PythonCalls calls;
  const StackTable& stacks = store.stacks.stacks();
  calls.node_of_stack.resize(stacks.size(), 0);
  bool is_all_python = true;
  for (uint32_t stack = 1; stack < stacks.size(); ++stack) {  // parents come first
    const uint32_t caller = calls.node_of_stack[stacks.parent[stack].value];
    const bool is_python = IsPythonFrame(store, stacks.frame[stack]);
    is_all_python = is_all_python && is_python;
    calls.node_of_stack[stack] = is_python ? calls.tree.InternChild({caller}, stacks.frame[stack]).value : caller;
  }
  // All Python: the nodes are numbered as those of the store.
  calls.jumps = is_all_python ? jumps_of_store : FindLoopJumps(store, heap, calls.stacks(), calls.node_of_stack);
  return calls;
}

}  // namespace memstrata
