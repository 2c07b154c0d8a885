#include "analysis/phases/python_calls.h"

#include "analysis/frames/useful_frame.h"

namespace memstrata {

PythonCalls FindPythonCalls(const Store& store) {
  PythonCalls calls;
  const StackTable& stacks = store.stacks.stacks();
  calls.node_of_stack.resize(stacks.size(), 0);
  for (uint32_t stack = 1; stack < stacks.size(); ++stack) {  // parents come first
    const StackId caller{calls.NodeOf(stacks.parent[stack])};
    const FrameId frame = stacks.frame[stack];
    calls.node_of_stack[stack] =
        IsPythonFrame(store, frame) ? calls.tree.InternChild(caller, frame).value : caller.value;
  }
  return calls;
}

}  // namespace memstrata
