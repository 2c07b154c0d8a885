#include "analysis/phases/loop_jumps.h"

namespace memstrata {
namespace {

/// Follows the calls of one program from event to event.
class CallTracker {
 public:
  explicit CallTracker(const Store& store)
      : stacks_(store.stacks.stacks()),
        frames_(store.stacks.frames()),
        last_child_(stacks_.size(), 0),
        first_seen_(stacks_.size(), kNone) {}

  /// The node under which the calls start over with this stack, 0 when they go on.
  uint32_t Enter(uint32_t stack) {
    const uint32_t common = CommonCaller(previous_, stack);
    path_.clear();
    for (uint32_t node = stack; node != common; node = stacks_.parent[node].value) path_.push_back(node);
    previous_ = stack;
    uint32_t loop_node = 0;
    bool is_new_call = false;
    uint32_t caller = common;
    for (size_t i = path_.size(); i-- > 0; caller = path_[i]) {
      const uint32_t callee = path_[i];
      if (first_seen_[callee] == kNone) first_seen_[callee] = seen_count_++;
      if (!is_new_call && callee != last_child_[caller]) {
        if (last_child_[caller] != 0 && caller != 0 && ComesBefore(callee, last_child_[caller])) loop_node = caller;
        is_new_call = true;
      }
      last_child_[caller] = callee;
    }
    if (is_new_call) last_child_[stack] = 0;
    return loop_node;
  }

 private:
  uint32_t CommonCaller(uint32_t a, uint32_t b) const {
    while (a != b) {
      uint32_t& deeper = stacks_.depth[a] >= stacks_.depth[b] ? a : b;
      deeper = stacks_.parent[deeper].value;
    }
    return a;
  }

  bool ComesBefore(uint32_t a, uint32_t b) const {
    const uint32_t frame_a = stacks_.frame[a].value;
    const uint32_t frame_b = stacks_.frame[b].value;
    const bool same_function =
        frames_.function[frame_a] == frames_.function[frame_b] && frames_.file[frame_a] == frames_.file[frame_b];
    return same_function ? frames_.line[frame_a] < frames_.line[frame_b] : first_seen_[a] < first_seen_[b];
  }

  const StackTable& stacks_;
  const FrameTable& frames_;
  std::vector<uint32_t> last_child_;
  std::vector<uint32_t> first_seen_;  // order of first calls
  uint32_t seen_count_ = 0;
  std::vector<uint32_t> path_;
  uint32_t previous_ = 0;
};

bool IsFree(EventKind kind) { return kind == EventKind::kFreeRequested || kind == EventKind::kFreeCompleted; }

}  // namespace

bool FreesHaveOwnStacks(const Store& store, const Heap& heap) {
  uint64_t same = 0;
  uint64_t count = 0;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (store.events.kind[row] != EventKind::kFreeRequested || store.events.allocation[row] == kNone) continue;
    const StackId allocated_by = store.allocations.stack[store.events.allocation[row]];
    if (allocated_by.value == 0) continue;
    ++count;
    same += store.events.stack[row] == allocated_by ? 1 : 0;
  }
  return count == 0 || same * 10 < count * 9;
}

bool IsCalledFrom(const StackTable& stacks, uint32_t node, uint32_t ancestor) {
  while (stacks.depth[node] > stacks.depth[ancestor]) node = stacks.parent[node].value;
  return node == ancestor;
}

std::vector<LoopJump> FindLoopJumps(const Store& store, const Heap& heap) {
  return FindLoopJumps(store, heap, 0, heap.events.size());
}

std::vector<LoopJump> FindLoopJumps(const Store& store, const Heap& heap, uint32_t begin_seq, uint32_t end_seq) {
  const bool frees_have_own_stacks = FreesHaveOwnStacks(store, heap);
  CallTracker calls(store);
  std::vector<LoopJump> jumps;
  uint32_t previous = 0;
  for (uint32_t seq = begin_seq; seq < end_seq; ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const uint32_t stack = store.events.stack[row].value;
    if (stack == 0 || stack == previous || (!frees_have_own_stacks && IsFree(store.events.kind[row]))) continue;
    previous = stack;
    const uint32_t loop_node = calls.Enter(stack);
    if (loop_node != 0) jumps.push_back({seq, loop_node});
  }
  return jumps;
}

}  // namespace memstrata
