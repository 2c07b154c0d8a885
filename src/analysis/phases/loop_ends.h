#pragma once
// Where a training goes from one loop into the next, seen from call stacks alone: a warm-up and the loop that is
// measured.

#include <span>
#include <vector>

#include "analysis/phases/loop_jumps.h"
#include "base/flat_map.h"
#include "model/store/store.h"

namespace memstrata {

/// Nearest common caller of two stacks. cost: O(depth)
uint32_t CommonCaller(const StackTable& stacks, uint32_t a, uint32_t b);

/// The caller of `node` that is as deep as `depth`; itself where it is not deeper. cost: O(depth)
uint32_t CallerAt(const StackTable& stacks, uint32_t node, uint16_t depth);

/// The first and the last event in which each call makes something.
class CallLives {
 public:
  /// cost: O(events + stack nodes)
  CallLives(const Store& store, const Heap& heap, const PythonCalls& calls);

  bool StartsAt(uint32_t node, uint32_t seq) const { return first_seq_[node] == seq; }
  bool EndsBefore(uint32_t node, uint32_t seq) const { return last_seq_[node] < seq; }

 private:
  std::vector<uint32_t> first_seq_;
  std::vector<uint32_t> last_seq_;
};

/// A loop that comes to its end, and another one, or another call of the same function, that goes on with the training
/// on a line of its own.
class LoopEnds {
 public:
  LoopEnds(const Store& store, const Heap& heap, const PythonCalls& calls, std::span<const LoopJump> jumps);

  /// Whether event `seq` with `stack` is the first behind the end: `caller` called the whole cycle before, whose
  /// forward began with `forward_stack`. cost: O(depth)
  bool IsBehind(uint32_t seq, uint32_t stack, uint32_t caller, uint32_t forward_stack) const;

 private:
  uint32_t LineBelow(uint32_t caller, uint32_t node) const;
  bool Replaces(uint32_t seq, uint32_t new_line, uint32_t old_line) const;
  bool AreOfOneFunction(uint32_t a, uint32_t b) const;

  const FrameTable& frames_;
  const StackTable& stacks_;
  const CallLives lives_;
  FlatMap<uint32_t, bool> starts_over_;  // calls in which something starts over
};

}  // namespace memstrata
