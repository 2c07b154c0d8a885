#include "analysis/phases/loop_ends.h"

#include <algorithm>

namespace memstrata {

uint32_t CommonCaller(const StackTable& stacks, uint32_t a, uint32_t b) {
  while (a != b) {
    uint32_t& deeper = stacks.depth[a] >= stacks.depth[b] ? a : b;
    deeper = stacks.parent[deeper].value;
  }
  return a;
}

uint32_t CallerAt(const StackTable& stacks, uint32_t node, uint16_t depth) {
  while (stacks.depth[node] > depth) node = stacks.parent[node].value;
  return node;
}

CallLives::CallLives(const Store& store, const Heap& heap, const PythonCalls& calls)
    : first_seq_(calls.stacks().size(), kNone), last_seq_(calls.stacks().size(), 0) {
  if (calls.node_of_stack.empty()) return;  // no call stacks
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    if (store.events.kind[row] != EventKind::kAlloc) continue;
    const uint32_t node = calls.NodeOf(store.events.stack[row]);
    first_seq_[node] = std::min(first_seq_[node], seq);
    last_seq_[node] = seq;
  }
  for (auto node = static_cast<uint32_t>(calls.stacks().size()); node-- > 1;) {  // parents come first
    const uint32_t parent = calls.stacks().parent[node].value;
    first_seq_[parent] = std::min(first_seq_[parent], first_seq_[node]);
    last_seq_[parent] = std::max(last_seq_[parent], last_seq_[node]);
  }
}

LoopEnds::LoopEnds(const Store& store, const Heap& heap, const PythonCalls& calls, std::span<const LoopJump> jumps)
    : frames_(store.stacks.frames()), stacks_(calls.stacks()), lives_(store, heap, calls) {
  for (const LoopJump& jump : jumps) starts_over_[jump.loop_node] = true;
}

bool LoopEnds::IsBehind(uint32_t seq, uint32_t stack, uint32_t caller, uint32_t forward_stack) const {
  if (caller == kNone || stack == 0) return false;
  const uint32_t common = CommonCaller(stacks_, caller, stack);
  if (common == stack) return false;
  const uint32_t new_line = LineBelow(common, stack);
  if (common == caller) {  // both loops lie in the function that was called
    return starts_over_.contains(common) && Replaces(seq, new_line, LineBelow(common, forward_stack));
  }
  const uint32_t old_line = LineBelow(common, caller);
  const bool calls_same = AreOfOneFunction(LineBelow(old_line, forward_stack), LineBelow(new_line, stack));
  const bool is_loop = calls_same || starts_over_.contains(old_line) || starts_over_.contains(new_line);
  return is_loop && AreOfOneFunction(old_line, new_line) && Replaces(seq, new_line, old_line);
}

uint32_t LoopEnds::LineBelow(uint32_t caller, uint32_t node) const {
  return CallerAt(stacks_, node, static_cast<uint16_t>(stacks_.depth[caller] + 1));
}

// A part of the loop that comes once, on a line of its own, comes back to the other lines.
bool LoopEnds::Replaces(uint32_t seq, uint32_t new_line, uint32_t old_line) const {
  return lives_.StartsAt(new_line, seq) && lives_.EndsBefore(old_line, seq);
}

bool LoopEnds::AreOfOneFunction(uint32_t a, uint32_t b) const {
  const uint32_t frame_a = stacks_.frame[a].value;
  const uint32_t frame_b = stacks_.frame[b].value;
  return frames_.function[frame_a] == frames_.function[frame_b] && frames_.file[frame_a] == frames_.file[frame_b];
}

}  // namespace memstrata
