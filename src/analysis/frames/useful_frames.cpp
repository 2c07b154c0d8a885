#include "analysis/frames/useful_frames.h"

namespace memstrata {

UsefulFrames::UsefulFrames(const Store& store) {
  const FrameTable& frames = store.stacks.frames();
  std::vector<bool> framework(frames.size());
  std::vector<bool> autograd_node(frames.size());
  plumbing_.resize(frames.size());
  for (uint32_t row = 0; row < frames.size(); ++row) {
    plumbing_[row] = memstrata::IsPlumbing(store, {row});
    framework[row] = IsFrameworkCode(store, {row});
    autograd_node[row] = IsAutogradNode(store, {row});
  }
  const StackTable& stacks = store.stacks.stacks();
  by_stack_.resize(stacks.size());
  for (uint32_t row = 1; row < stacks.size(); ++row) {  // callers come first
    const FrameId frame = stacks.frame[row];
    Candidates best = by_stack_[stacks.parent[row].value];
    best.innermost = frame;
    if (!plumbing_[frame.value]) {
      const bool is_python = IsPythonFrame(store, frame);
      best.not_plumbing = frame;
      if (!is_python && autograd_node[frame.value]) best.autograd_node = frame;
      if (is_python) best.python = frame;
      if (is_python && !framework[frame.value]) best.own_python = frame;
    }
    by_stack_[row] = best;
  }
}

FrameId UsefulFrames::Of(StackId stack) const {
  const Candidates& best = by_stack_[stack.value];
  for (const FrameId frame : {best.own_python, best.python, best.autograd_node, best.not_plumbing}) {
    if (frame.has_value()) return frame;
  }
  return best.innermost;
}

}  // namespace memstrata
