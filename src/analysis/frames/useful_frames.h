#pragma once
// The frame to name each stack by, for all stacks of a session at once.

#include <vector>

#include "analysis/frames/useful_frame.h"

namespace memstrata {

class UsefulFrames {
 public:
  /// cost: O(frames + stacks)
  explicit UsefulFrames(const Store& store);

  bool IsPlumbing(FrameId frame) const { return plumbing_[frame.value]; }
  /// What UsefulFrameIndex() chooses for this stack; no value for the empty stack.
  FrameId Of(StackId stack) const;

 private:
  // Innermost frames of a stack by how much they tell.
  struct Candidates {
    FrameId own_python;
    FrameId python;
    FrameId autograd_node;
    FrameId not_plumbing;
    FrameId innermost;
  };
  std::vector<bool> plumbing_;
  std::vector<Candidates> by_stack_;
};

}  // namespace memstrata
