#include "analysis/phases/loop_jumps.h"

#include <optional>

#include "analysis/phases/order_events.h"

namespace memstrata {
namespace {

/// Follows the calls of one program from event to event.
class CallTracker {
 public:
  CallTracker(const StackTable& stacks, const FrameTable& frames)
      : stacks_(stacks), frames_(frames), last_child_(stacks_.size(), 0), first_seen_(stacks_.size(), kNone) {}

  /// Where the calls start over with this stack; nothing when they go on.
  std::optional<LoopJump> Enter(uint32_t seq, uint32_t stack) {
    const uint32_t common = CommonCaller(previous_, stack);
    path_.clear();
    for (uint32_t node = stack; node != common; node = stacks_.parent[node].value) path_.push_back(node);
    previous_ = stack;
    std::optional<LoopJump> jump;
    bool is_new_call = false;
    uint32_t caller = common;
    for (size_t i = path_.size(); i-- > 0; caller = path_[i]) {
      const uint32_t callee = path_[i];
      if (first_seen_[callee] == kNone) first_seen_[callee] = seen_count_++;
      if (!is_new_call && callee != last_child_[caller]) {
        const uint32_t last = last_child_[caller];
        if (last != 0 && !IsOfOtherThread(caller, callee) && ComesBefore(callee, last))
          jump = LoopJump{seq, caller, last, callee};
        is_new_call = true;
      }
      if (!IsOfOtherThread(caller, callee)) last_child_[caller] = callee;
    }
    if (is_new_call) last_child_[stack] = 0;
    return jump;
  }

 private:
  uint32_t CommonCaller(uint32_t a, uint32_t b) const {
    while (a != b) {
      uint32_t& deeper = stacks_.depth[a] >= stacks_.depth[b] ? a : b;
      deeper = stacks_.parent[deeper].value;
    }
    return a;
  }

  bool IsSameFunction(uint32_t a, uint32_t b) const {
    const uint32_t frame_a = stacks_.frame[a].value;
    const uint32_t frame_b = stacks_.frame[b].value;
    return frames_.function[frame_a] == frames_.function[frame_b] && frames_.file[frame_a] == frames_.file[frame_b];
  }

  // Nobody calls the outermost function; another one there is that of another thread.
  bool IsOfOtherThread(uint32_t caller, uint32_t callee) const {
    return caller == 0 && last_child_[0] != 0 && !IsSameFunction(callee, last_child_[0]);
  }

  bool ComesBefore(uint32_t a, uint32_t b) const {
    return IsSameFunction(a, b) ? frames_.line[stacks_.frame[a].value] < frames_.line[stacks_.frame[b].value]
                                : first_seen_[a] < first_seen_[b];
  }

  const StackTable& stacks_;
  const FrameTable& frames_;
  std::vector<uint32_t> last_child_;
  std::vector<uint32_t> first_seen_;  // order of first calls
  uint32_t seen_count_ = 0;
  std::vector<uint32_t> path_;
  uint32_t previous_ = 0;
};

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

std::vector<LoopJump> FindLoopJumps(const Store& store, const Heap& heap, const PythonCalls& calls) {
  const bool frees_have_own_stacks = FreesHaveOwnStacks(store, heap);
  CallTracker tracker(calls.stacks(), store.stacks.frames());
  std::vector<LoopJump> jumps;
  uint32_t previous = 0;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    if (!frees_have_own_stacks && IsFree(store.events.kind[row])) continue;
    const uint32_t node = calls.NodeOf(store.events.stack[row]);
    if (node == 0 || node == previous) continue;
    previous = node;
    if (const std::optional<LoopJump> jump = tracker.Enter(seq, node)) jumps.push_back(*jump);
  }
  return jumps;
}

}  // namespace memstrata
