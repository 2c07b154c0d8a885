#include "analysis/phases/steps.h"

#include <algorithm>

#include "analysis/phases/alternating_steps.h"
#include "analysis/phases/loop_ends.h"
#include "analysis/phases/loop_jumps.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

bool IsSetUp(Phase phase) { return phase == Phase::kLoad || phase == Phase::kOther; }

/// One forward and backward, perhaps with the update after it.
struct Cycle {
  uint32_t begin_seq = 0;
  bool has_update =
      false;  // the optimizer, clipping or zero_grad ran after its backward, or the next cycle starts with it
};

uint32_t FirstWork(const std::vector<Phase>& phases) {
  uint32_t seq = 0;
  while (seq < phases.size() && IsSetUp(phases[seq])) ++seq;
  return seq;
}

// The recording starts after the first forward of its first step.
bool StartsInStep(const std::vector<Phase>& phases) {
  const uint32_t first = FirstWork(phases);
  return first < phases.size() && (IsUpdate(phases[first]) || IsBackward(phases[first]));
}

// Of each event, its phase or the next later one that is a part of a step; evaluation and the program's own work are
// none.
std::vector<Phase> NextStrongPhases(const std::vector<Phase>& phases) {
  std::vector<Phase> next(phases.size());
  Phase strong = Phase::kOther;
  for (size_t seq = phases.size(); seq-- > 0;) {
    const Phase phase = phases[seq];
    if (!IsSetUp(phase) && phase != Phase::kInput && phase != Phase::kEval) strong = phase;
    next[seq] = strong;
  }
  return next;
}

// Whether a jump leads to the line that called the forward, or to an earlier one: a loop behind it, over the batches of
// an evaluation, does not.
bool GoesAbove(const Store& store, const StackTable& stacks, const LoopJump& jump, uint32_t forward_stack) {
  if (stacks.depth[forward_stack] <= stacks.depth[jump.loop_node]) return true;
  const uint32_t forward = CallerAt(stacks, forward_stack, static_cast<uint16_t>(stacks.depth[jump.loop_node] + 1));
  const FrameTable& frames = store.stacks.frames();
  return frames.line[stacks.frame[jump.to_node].value] <= frames.line[stacks.frame[forward].value];
}

/// The nearest common caller of the stacks since the last Clear().
class CommonCallerOfMany {
 public:
  explicit CommonCallerOfMany(const StackTable& stacks) : stacks_(stacks), known_below_(stacks.size(), kNone) {}

  /// kNone: there was no stack.
  uint32_t caller() const { return caller_; }
  void Clear() { caller_ = kNone; }
  void Add(uint32_t stack) {
    if (caller_ != kNone && known_below_[stack] == caller_) return;  // programs come back to the same lines
    caller_ = caller_ == kNone ? stack : CommonCaller(stacks_, caller_, stack);
    known_below_[stack] = caller_;
  }

 private:
  const StackTable& stacks_;
  std::vector<uint32_t> known_below_;  // by node: a caller that it is known to come from
  uint32_t caller_ = kNone;
};

// Cycles by jumps of the training loop: it starts over after a backward, in a function that called the forward as well
// as the backward and the update. Where a branch of the loop goes another way once, it starts over
// without a jump when it comes back to a call that has made whole cycles before. A second loop starts behind the first.
std::vector<Cycle> CyclesByJumps(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                 const PythonCalls& calls, std::span<const LoopJump> jumps) {
  const StackTable& stacks = calls.stacks();
  const std::vector<Phase> next_strong = NextStrongPhases(phases);
  std::vector<Cycle> cycles = {{FirstWork(phases), false}};
  auto jump = jumps.begin();
  CommonCallerOfMany common(stacks);  // of everything since the forward began
  bool is_one_call = true;            // since the cycle began, not only since the last forward
  FlatMap<uint32_t, bool> made_whole_cycle;
  const LoopEnds loop_ends(store, heap, calls, jumps);
  uint32_t forward_stack = 0;
  bool had_backward = StartsInStep(phases);
  bool had_update = false;
  for (uint32_t seq = cycles[0].begin_seq; seq < phases.size(); ++seq) {
    const Phase phase = phases[seq];
    const uint32_t caller = common.caller();
    while (jump != jumps.end() && jump->seq < seq) ++jump;
    const bool jumped = jump != jumps.end() && jump->seq == seq;
    const bool starts_forward = next_strong[seq] == Phase::kForward || next_strong[seq] == Phase::kZeroGrad;
    const bool starts_over = jumped && caller != kNone && IsCalledFrom(stacks, caller, jump->loop_node) &&
                             GoesAbove(store, stacks, *jump, forward_stack);
    const uint32_t stack = calls.node_of_stack.empty() ? 0 : calls.NodeOf(store.events.stack[heap.events.begin + seq]);
    const auto comes_back = [&] {
      const uint32_t beside = caller == kNone ? kNone : CallerAt(stacks, stack, stacks.depth[caller]);
      return had_update && beside != caller && made_whole_cycle.contains(beside);
    };
    const bool starts_anew = had_update && seq > 0 && phases[seq - 1] == Phase::kLoad;  // another model is trained now
    const auto moves_on = [&] { return had_update && loop_ends.IsBehind(seq, stack, caller, forward_stack); };
    if (had_backward && starts_forward && (starts_over || starts_anew || comes_back() || moves_on())) {
      if (starts_over && had_update && is_one_call) made_whole_cycle[caller] = true;
      is_one_call = true;
      cycles.back().has_update = cycles.back().has_update || phase == Phase::kZeroGrad;
      cycles.push_back({seq, false});
      had_backward = had_update = false;
      common.Clear();
    }
    if (phase == Phase::kForward && (had_backward || had_update)) {
      is_one_call = false;
      had_backward = had_update = false;
      common.Clear();
    }
    const bool is_main = IsForward(phase) || phase == Phase::kOptimizer || phase == Phase::kClip;
    if (is_main && stack != 0 && common.caller() == kNone) forward_stack = stack;
    if (is_main && stack != 0) common.Add(stack);
    had_backward = had_backward || phase == Phase::kBackward;
    had_update = had_update || (had_backward && IsUpdate(phase));
    cycles.back().has_update = cycles.back().has_update || had_update;
  }
  return cycles;
}

// Cycles by order alone: a forward, or what prepares it, after a backward.
std::vector<Cycle> CyclesByOrder(const std::vector<Phase>& phases) {
  std::vector<Cycle> cycles = {{FirstWork(phases), false}};
  bool had_backward = StartsInStep(phases);
  uint32_t prepares_from = kNone;  // inputs since the last backward
  for (uint32_t seq = cycles[0].begin_seq; seq < phases.size(); ++seq) {
    const Phase phase = phases[seq];
    if (phase == Phase::kBackward) {
      had_backward = true;
      prepares_from = kNone;
    }
    if (phase == Phase::kInput && prepares_from == kNone) prepares_from = seq;
    if (phase == Phase::kForward && had_backward) {
      cycles.push_back({prepares_from == kNone ? seq : prepares_from, false});
      had_backward = false;
    }
    if (had_backward && IsUpdate(phase)) cycles.back().has_update = true;
  }
  return cycles;
}

// Joins the cycles of accumulated gradients. An update that works in place leaves no events: then as many cycles make a
// step as in the steps whose update is seen.
std::vector<uint32_t> JoinCycles(const std::vector<Cycle>& cycles) {
  std::vector<size_t> lengths;
  size_t length = 0;
  for (const Cycle& cycle : cycles) {
    ++length;
    if (!cycle.has_update) continue;
    lengths.push_back(length);
    length = 0;
  }
  size_t usual = 1;
  if (!lengths.empty()) {
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 2), lengths.end());
    usual = lengths[lengths.size() / 2];
  }
  std::vector<uint32_t> begins;
  length = 0;
  bool starts = true;
  for (const Cycle& cycle : cycles) {
    if (starts) begins.push_back(cycle.begin_seq);
    length = starts ? 1 : length + 1;
    starts = cycle.has_update || length >= usual;
  }
  return begins;
}

// Frees without stacks of their own do not tell whether zero_grad ends a step or begins the next one. The last step
// does: where nothing frees its gradients, zero_grad comes first.
void MoveToZeroGrad(const std::vector<Phase>& phases, std::vector<uint32_t>& begins) {
  bool had_backward = false;
  for (uint32_t seq = begins.back(); seq < phases.size(); ++seq) {
    had_backward = had_backward || phases[seq] == Phase::kBackward;
    if (had_backward && phases[seq] == Phase::kZeroGrad) return;
  }
  if (!had_backward) return;
  for (size_t i = 1; i < begins.size(); ++i) {
    while (begins[i] > begins[i - 1] + 1 && phases[begins[i] - 1] == Phase::kZeroGrad) --begins[i];
  }
}

/// Which loops are a program's own: those inside of a model go over its layers.
class ProgramLoops {
 public:
  ProgramLoops(const Store& store, const PythonCalls& calls)
      : stacks_(calls.stacks()),
        frames_(store.stacks.frames()),
        call_count_(stacks_.size(), 0),
        calls_model_(stacks_.size(), false),
        first_line_(stacks_.size(), UINT32_MAX) {
    std::vector<bool> calls_module(frames_.size(), false);
    for (uint32_t frame = 0; frame < frames_.size(); ++frame) {
      calls_module[frame] = store.String(frames_.function[frame]).ends_with("_call_impl") &&
                            store.String(frames_.file[frame]).ends_with("torch/nn/modules/module.py");
    }
    for (uint32_t node = 1; node < stacks_.size(); ++node) {  // parents come first
      const uint32_t parent = stacks_.parent[node].value;
      const uint32_t frame = stacks_.frame[node].value;
      const bool is_first = calls_module[frame] && (parent == 0 || !calls_module[stacks_.frame[parent].value]);
      call_count_[node] = call_count_[parent] + (is_first ? 1 : 0);
      first_line_[parent] = std::min(first_line_[parent], frames_.line[frame]);
    }
    for (auto node = static_cast<uint32_t>(stacks_.size()); node-- > 1;) {
      if (call_count_[node] > 0) calls_model_[node] = true;
      if (calls_model_[node]) calls_model_[stacks_.parent[node].value] = true;
    }
  }

  /// The first line of a function, from `line` on, that calls a model; UINT32_MAX without one.
  uint32_t FirstModelLine(uint32_t caller, uint32_t line) const {
    uint32_t first = UINT32_MAX;
    for (uint32_t node = caller + 1; node < stacks_.size(); ++node) {
      const uint32_t at = frames_.line[stacks_.frame[node].value];
      if (stacks_.parent[node].value == caller && calls_model_[node] && at >= line) first = std::min(first, at);
    }
    return first;
  }

  /// A model that starts over from its first line is called again.
  bool IsOfProgram(const LoopJump& jump) const {
    const uint32_t calls = call_count_[jump.loop_node];
    const bool is_first = frames_.line[stacks_.frame[jump.to_node].value] == first_line_[jump.loop_node];
    return calls == 0 || (calls == 1 && is_first);
  }

 private:
  const StackTable& stacks_;
  const FrameTable& frames_;
  std::vector<uint32_t> call_count_;  // by node: calls of modules at or above it
  std::vector<bool> calls_model_;     // by node: calls of modules at, above or below it
  std::vector<uint32_t> first_line_;  // by node: the lowest line of what it calls
};

// Of the loops of one function, the jumps of the outermost: those that come from as far down as a jump to its top does,
// and go up beyond the first call of a model. A loop of decodes may end on the same line as the loop of requests.
std::vector<LoopJump> JumpsOfOutermost(const Store& store, const PythonCalls& calls, std::span<const LoopJump> jumps,
                                       const ProgramLoops& loops, uint32_t loop_node) {
  const auto line_of = [&](uint32_t node) { return store.stacks.frames().line[calls.stacks().frame[node].value]; };
  uint32_t top = UINT32_MAX;
  uint32_t bottom = UINT32_MAX;  // the highest line from which the top is reached
  for (const LoopJump& jump : jumps) {
    if (jump.loop_node != loop_node) continue;
    if (line_of(jump.to_node) < top) bottom = UINT32_MAX;
    top = std::min(top, line_of(jump.to_node));
    if (line_of(jump.to_node) == top) bottom = std::min(bottom, line_of(jump.from_node));
  }
  const uint32_t model_line = loops.FirstModelLine(loop_node, top);
  std::vector<LoopJump> outermost;
  for (const LoopJump& jump : jumps) {
    if (jump.loop_node != loop_node || line_of(jump.from_node) < bottom) continue;
    if (line_of(jump.to_node) == top || line_of(jump.to_node) <= model_line) outermost.push_back(jump);
  }
  return outermost;
}

// Inference: the outermost loop that starts over while the model is called.
std::vector<uint32_t> StepsOfInference(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                       const PythonCalls& calls, std::span<const LoopJump> all_jumps) {
  const StackTable& stacks = calls.stacks();
  std::vector<uint32_t> begins;
  const uint32_t first = FirstWork(phases);
  if (first == phases.size()) return begins;
  std::vector<LoopJump> jumps(all_jumps.begin(), all_jumps.end());
  const ProgramLoops loops(store, calls);
  std::erase_if(jumps, [&](const LoopJump& jump) { return jump.seq <= first || !loops.IsOfProgram(jump); });
  std::vector<uint32_t> count(stacks.size(), 0);
  for (const LoopJump& jump : jumps) ++count[jump.loop_node];
  uint32_t loop = kNone;
  for (const LoopJump& jump : jumps) {
    if (count[jump.loop_node] < 2) continue;
    if (loop == kNone || stacks.depth[jump.loop_node] < stacks.depth[loop]) loop = jump.loop_node;
  }
  begins.push_back(first);
  if (loop == kNone) return begins;
  // A forward before the loop (the prefill) is a step of its own.
  uint32_t enters = first;
  while (enters < phases.size() &&
         !IsCalledFrom(stacks, calls.NodeOf(store.events.stack[heap.events.begin + enters]), loop))
    ++enters;
  const auto is_forward = [](Phase phase) { return phase == Phase::kForward || phase == Phase::kEval; };
  const bool forward_before = std::any_of(phases.begin() + first, phases.begin() + enters, is_forward);
  if (forward_before && enters < phases.size()) begins.push_back(enters);
  for (const LoopJump& jump : JumpsOfOutermost(store, calls, jumps, loops, loop)) {
    if (jump.seq > begins.back()) begins.push_back(jump.seq);
  }
  return begins;
}

}  // namespace

std::vector<uint32_t> FindStepBegins(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                     const PythonCalls& calls, std::span<const LoopJump> jumps) {
  if (FirstWork(phases) == phases.size()) return {};
  const bool is_inference = std::find(phases.begin(), phases.end(), Phase::kEval) != phases.end() &&
                            std::find(phases.begin(), phases.end(), Phase::kBackward) == phases.end();
  if (is_inference) return StepsOfInference(store, heap, phases, calls, jumps);
  const std::vector<Cycle> by_jumps = CyclesByJumps(store, heap, phases, calls, jumps);
  std::vector<uint32_t> begins = JoinCycles(by_jumps.size() > 1 ? by_jumps : CyclesByOrder(phases));
  begins = JoinAlternatingSteps(store, heap, phases, begins);
  const bool frees_have_stacks = !calls.node_of_stack.empty() && FreesHaveOwnStacks(store, heap);
  if (!frees_have_stacks && !begins.empty()) MoveToZeroGrad(phases, begins);
  return begins;
}

}  // namespace memstrata
