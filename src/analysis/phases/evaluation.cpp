#include "analysis/phases/evaluation.h"

#include <algorithm>
#include <optional>

#include "base/flat_map.h"

namespace memstrata {
namespace {

/// Events in a row of one kind.
struct Run {
  uint32_t begin = 0;
  uint32_t end = 0;
  Phase phase = Phase::kOther;  // kForward stands for forward and loss, kInput for inputs and other work
  bool has_alloc = false;
};

std::vector<Run> FindRuns(const Store& store, const Heap& heap, const std::vector<Phase>& phases) {
  std::vector<Run> runs;
  for (uint32_t seq = 0; seq < phases.size(); ++seq) {
    Phase phase = phases[seq];
    if (IsForward(phase)) phase = Phase::kForward;
    if (IsBackward(phase)) phase = Phase::kBackward;
    if (phase == Phase::kOther) phase = Phase::kInput;
    if (runs.empty() || runs.back().phase != phase) runs.push_back({seq, seq, phase, false});
    runs.back().end = seq + 1;
    runs.back().has_alloc = runs.back().has_alloc || store.events.kind[heap.events.begin + seq] == EventKind::kAlloc;
  }
  return runs;
}

// Whether the forward `runs[i]` is used by a backward: nothing lies between but frees, and zero_grad right before it.
bool LeadsToBackward(const std::vector<Run>& runs, size_t i) {
  for (size_t next = i + 1; next < runs.size(); ++next) {
    if (runs[next].phase == Phase::kBackward) return true;
    const bool only_frees = runs[next].phase == Phase::kInput && !runs[next].has_alloc;
    if (!only_frees && runs[next].phase != Phase::kZeroGrad && runs[next].phase != Phase::kForward) return false;
    if (runs[next].phase == Phase::kForward && runs[next - 1].phase == Phase::kZeroGrad) return false;
  }
  return false;
}

// Whether a backward, however late, gives back a good part of what the forward `run` made. An evaluation keeps nothing
// for one.
bool IsGivenBackByBackward(const Store& store, const Heap& heap, const std::vector<Phase>& phases, const Run& run) {
  uint64_t made_bytes = 0;
  uint64_t given_bytes = 0;
  for (uint32_t seq = run.begin; seq < run.end; ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const uint32_t allocation = store.events.allocation[row];
    if (store.events.kind[row] != EventKind::kAlloc || allocation == kNone) continue;
    const uint64_t bytes = store.allocations.size_bytes[allocation];
    made_bytes += bytes;
    const uint32_t end = store.allocations.free_requested_seq[allocation];
    if (end != kNone && end >= run.end && IsBackward(phases[end])) given_bytes += bytes;
  }
  return made_bytes > 0 && given_bytes * 4 >= made_bytes;
}

// Of each stack, who made the outermost call of a module; kNone where it has none.
std::vector<uint32_t> ModelCallers(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  const FrameTable& frames = store.stacks.frames();
  std::vector<uint32_t> callers(stacks.size(), kNone);
  for (uint32_t node = 1; node < stacks.size(); ++node) {  // parents come first
    const uint32_t parent = stacks.parent[node].value;
    const uint32_t frame = stacks.frame[node].value;
    const bool is_module_call = store.String(frames.function[frame]).ends_with("_call_impl") &&
                                store.String(frames.file[frame]).ends_with("torch/nn/modules/module.py");
    callers[node] = callers[parent] != kNone || !is_module_call ? callers[parent] : parent;
  }
  return callers;
}

// Forwards that a failed request cut off belong to the training when the same line calls the model there.
class CutOffForwards {
 public:
  CutOffForwards(const Store& store, const Heap& heap) : store_(store), heap_(heap), callers_(ModelCallers(store)) {}

  bool IsCutOff(const Run& run) const {
    for (uint32_t seq = run.begin; seq < std::min(run.end + 1, heap_.events.size()); ++seq) {
      if (store_.events.kind[heap_.events.begin + seq] == EventKind::kOutOfMemory) return true;
    }
    return false;
  }
  uint32_t CallerOf(const Run& run) const {
    for (uint32_t seq = run.begin; seq < run.end; ++seq) {
      const uint32_t caller = callers_[store_.events.stack[heap_.events.begin + seq].value];
      if (caller != kNone) return caller;
    }
    return kNone;
  }

 private:
  const Store& store_;
  const Heap& heap_;
  std::vector<uint32_t> callers_;
};

void KeepCutOffForwards(const CutOffForwards& cut_off, const std::vector<Run>& runs, std::vector<bool>& is_evaluation) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!is_evaluation[i] || !cut_off.IsCutOff(runs[i])) continue;
    const uint32_t caller = cut_off.CallerOf(runs[i]);
    for (size_t k = 0; k < runs.size() && is_evaluation[i] && caller != kNone; ++k) {
      const bool is_of_training = IsForward(runs[k].phase) && !is_evaluation[k];
      if (is_of_training && cut_off.CallerOf(runs[k]) == caller) is_evaluation[i] = false;
    }
  }
}

// A forward of a training keeps much of what it makes until event `until_seq`; an evaluation, or a generation with its
// cache, next to nothing.
bool KeepsActivations(const Store& store, const Heap& heap, const std::vector<Phase>& phases, uint32_t until_seq) {
  constexpr uint64_t kSmallBytes = 1024;
  uint32_t made = 0;
  uint32_t kept = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t seq = store.allocations.alloc_seq[row];
    if (seq == kNone || !IsForward(phases[seq]) || store.allocations.size_bytes[row] < kSmallBytes) continue;
    ++made;
    kept += store.allocations.free_requested_seq[row] >= until_seq ? 1 : 0;
  }
  return made > 0 && kept * 4 >= made;
}

// Live bytes at the end of each step.
std::vector<uint64_t> LiveAtStepEnds(const Store& store, const Heap& heap, const Timeline& timeline) {
  std::vector<uint64_t> live;
  int64_t sum = 0;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    if (store.events.kind[row] == EventKind::kAlloc) sum += static_cast<int64_t>(store.events.size_bytes[row]);
    if (store.events.kind[row] == EventKind::kFreeCompleted) sum -= static_cast<int64_t>(store.events.size_bytes[row]);
    const bool ends_step = live.size() < timeline.steps.size() && seq + 1 == timeline.steps[live.size()].end_seq;
    if (ends_step) live.push_back(static_cast<uint64_t>(std::max<int64_t>(sum, 0)));
  }
  return live;
}

// The first failed request; kNone without one.
uint32_t FirstFailure(const Store& store, const Heap& heap) {
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    if (store.events.kind[heap.events.begin + seq] == EventKind::kOutOfMemory) return seq;
  }
  return kNone;
}

// Whether one line calls the model time and again, as a server does and a step that never came to its backward does
// not.
bool CallsModelOften(const CutOffForwards& forwards, const std::vector<Run>& runs) {
  constexpr size_t kOften = 4;
  FlatMap<uint32_t, size_t> count;
  for (const Run& run : runs) {
    if (!IsForward(run.phase)) continue;
    const uint32_t caller = forwards.CallerOf(run);
    if (caller != kNone && ++count[caller] >= kOften) return true;
  }
  return false;
}

}  // namespace

void MarkEvaluation(const Store& store, const Heap& heap, StackLabels& labels) {
  const std::vector<Run> runs = FindRuns(store, heap, labels.phase);
  const bool is_training =
      std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.phase == Phase::kBackward; });
  const bool is_cut_off = !runs.empty() &&
                          std::any_of(runs.end() - std::min<ptrdiff_t>(2, std::ssize(runs)), runs.end(),
                                      [](const Run& run) { return IsForward(run.phase); }) &&
                          !is_training;
  const uint32_t failure = FirstFailure(store, heap);
  std::optional<CutOffForwards> forwards;  // where a request failed
  if (failure != kNone) forwards.emplace(store, heap);
  const auto serves = [&] { return !forwards || CallsModelOften(*forwards, runs); };
  if (is_cut_off && (!serves() || KeepsActivations(store, heap, labels.phase, failure)))
    return;  // it never came to a backward
  std::vector<bool> is_evaluation(runs.size(), false);
  for (size_t i = 0; i < runs.size(); ++i) {
    is_evaluation[i] = IsForward(runs[i].phase) && !LeadsToBackward(runs, i) &&
                       !IsGivenBackByBackward(store, heap, labels.phase, runs[i]);
  }
  if (forwards) KeepCutOffForwards(*forwards, runs, is_evaluation);
  for (size_t i = 0; i < runs.size(); ++i) {
    const bool is_between =
        i > 0 && i + 1 < runs.size() && is_training && runs[i].phase == Phase::kInput && is_evaluation[i + 1];
    if (!is_evaluation[i] && !is_between) continue;
    uint32_t begin = runs[i].begin;
    if (is_between && !is_evaluation[i - 1]) {  // what was given back before belongs to the step
      while (begin < runs[i].end && labels.phase[begin] == Phase::kOther) ++begin;
    }
    std::fill(labels.phase.begin() + begin, labels.phase.begin() + runs[i].end, Phase::kEval);
    // What an evaluation gives back after it belongs to it.
    if (!is_evaluation[i] || i + 1 >= runs.size() || runs[i + 1].phase != Phase::kInput || i + 2 >= runs.size())
      continue;
    for (uint32_t seq = runs[i + 1].begin; seq < runs[i + 1].end && labels.phase[seq] == Phase::kOther; ++seq)
      labels.phase[seq] = Phase::kEval;
  }
}

namespace {

// A cache that grows is written anew: what a step leaves, a later one replaces. Where what nothing replaces makes up
// most of the growth, it is a leak.
bool IsReplaced(const Store& store, const Heap& heap, const Timeline& timeline, uint64_t growth_bytes) {
  const size_t last_step = timeline.steps.size() - 1;
  uint64_t left_bytes = 0;
  uint64_t stays_bytes = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t begin = store.allocations.alloc_seq[row];
    const uint32_t end = store.allocations.free_requested_seq[row];
    const uint32_t step = begin == kNone ? kNone : timeline.step_of_event[begin];
    // The first step makes what all need; what the last two left, no other step had to replace.
    if (step == kNone || step == 0 || step + 2 > last_step || end < timeline.steps[step].end_seq) continue;
    left_bytes += store.allocations.size_bytes[row];
    if (end >= timeline.steps[last_step].begin_seq) stays_bytes += store.allocations.size_bytes[row];
  }
  return stays_bytes * 2 < left_bytes && stays_bytes * 2 < growth_bytes;
}

}  // namespace

void JoinCallsOfSteps(Timeline& timeline) {
  for (const StepSpan& step : timeline.steps) {
    const auto begin = timeline.phase_of_event.begin() + step.begin_seq;
    const auto end = timeline.phase_of_event.begin() + step.end_seq;
    const auto first = std::find(begin, end, Phase::kEval);
    const auto behind_last = std::find(std::reverse_iterator(end), std::reverse_iterator(first), Phase::kEval).base();
    for (auto phase = first; phase < behind_last; ++phase) {
      if (*phase == Phase::kInput || *phase == Phase::kOther) *phase = Phase::kEval;
    }
  }
}

void MarkGeneration(const Store& store, const Heap& heap, Timeline& timeline) {
  constexpr size_t kFewestSteps = 4;
  if (timeline.steps.size() < kFewestSteps) return;
  const std::vector<uint64_t> live = LiveAtStepEnds(store, heap, timeline);
  size_t grows = 0;
  for (size_t step = 1; step + 1 < live.size(); ++step) grows += live[step] > live[step - 1] ? 1 : 0;
  if (grows * 10 < (live.size() - 2) * 8) return;
  const bool calls_model = std::any_of(timeline.phase_of_event.begin(), timeline.phase_of_event.end(), IsForwardOrEval);
  const uint64_t growth_bytes = live[live.size() - 2] - std::min(live[0], live[live.size() - 2]);
  if (!calls_model || !IsReplaced(store, heap, timeline, growth_bytes)) return;
  // Calls that could not be told apart are in the first step too, where it is longer than a call.
  constexpr uint32_t kMuchLonger = 3;
  const auto length_of = [&](size_t step) { return timeline.steps[step].end_seq - timeline.steps[step].begin_seq; };
  const bool starts_with_prefill = length_of(0) < kMuchLonger * length_of(1);
  for (uint32_t seq = timeline.steps[0].begin_seq; seq < heap.events.size(); ++seq) {
    Phase& phase = timeline.phase_of_event[seq];
    const bool is_forward = IsForwardOrEval(phase);
    if (timeline.step_of_event[seq] == 0) {
      if (is_forward) phase = starts_with_prefill ? Phase::kPrefill : Phase::kEval;
    } else if (is_forward || phase == Phase::kInput || phase == Phase::kOther) {
      phase = Phase::kDecode;
    }
  }
}

}  // namespace memstrata
