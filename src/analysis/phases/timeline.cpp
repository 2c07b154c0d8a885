#include "analysis/phases/timeline.h"

#include <algorithm>

#include "analysis/phases/annotations.h"
#include "analysis/phases/complete_steps.h"
#include "analysis/phases/evaluation.h"
#include "analysis/phases/generation.h"
#include "analysis/phases/inner_gradients.h"
#include "analysis/phases/label_by_order.h"
#include "analysis/phases/label_by_stack.h"
#include "analysis/phases/own_update.h"
#include "analysis/phases/period.h"
#include "analysis/phases/stack_evidence.h"
#include "analysis/phases/steps.h"

namespace memstrata {
namespace {

void CutSteps(Timeline& timeline, const std::vector<uint32_t>& begins, uint32_t event_count) {
  for (size_t i = 0; i < begins.size(); ++i) {
    const uint32_t end = i + 1 < begins.size() ? begins[i + 1] : event_count;
    timeline.steps.push_back({begins[i], end, true});
    std::fill(timeline.step_of_event.begin() + begins[i], timeline.step_of_event.begin() + end,
              static_cast<uint32_t>(i));
  }
}

void CutPhases(Timeline& timeline) {
  for (uint32_t seq = 0; seq < timeline.phase_of_event.size(); ++seq) {
    const Phase phase = timeline.phase_of_event[seq];
    const uint32_t step = timeline.step_of_event[seq];
    if (timeline.phases.empty() || timeline.phases.back().phase != phase || timeline.phases.back().step != step) {
      timeline.phases.push_back({phase, step, seq, seq});
    }
    timeline.phases.back().end_seq = seq + 1;
  }
}

bool HasBackward(const std::vector<Phase>& phases) {
  return std::find(phases.begin(), phases.end(), Phase::kBackward) != phases.end();
}

bool HasModelCall(const std::vector<Phase>& phases) {
  return std::any_of(phases.begin(), phases.end(),
                     [](Phase phase) { return IsForwardOrEval(phase) || phase == Phase::kOptimizer; });
}

// Whether the program itself, outside of all models, allocates in each step but the last, which may be cut off.
bool HasOwnWorkInEach(const Store& store, const Heap& heap, const StackEvidence& evidence,
                      const std::vector<uint32_t>& begins) {
  for (size_t step = 0; step + 1 < begins.size(); ++step) {
    bool has_own_work = false;
    for (uint32_t seq = begins[step]; seq < begins[step + 1] && !has_own_work; ++seq) {
      const uint32_t row = heap.events.begin + seq;
      has_own_work =
          store.events.kind[row] == EventKind::kAlloc && !evidence.is_in_model[store.events.stack[row].value];
    }
    if (!has_own_work) return false;
  }
  return true;
}

// Requests are steps; the calls of a single one are.
std::vector<uint32_t> StepsOfRequests(const std::vector<GenerationRequest>& requests) {
  if (requests.size() == 1) return requests[0].call_begins;
  std::vector<uint32_t> begins;
  for (const GenerationRequest& request : requests) begins.push_back(request.call_begins[0]);
  return begins;
}

// An XLA program allocates and frees its buffers as a whole: the order of events says nothing about forward and
// backward.
Timeline WithoutPhases(const Heap& heap) {
  Timeline timeline;
  timeline.basis = PhaseBasis::kOrder;
  timeline.step_of_event.assign(heap.events.size(), kNone);
  timeline.phase_of_event.assign(heap.events.size(), Phase::kOther);
  timeline.is_plain.assign(heap.events.size(), false);
  return timeline;
}

}  // namespace

Timeline FindTimeline(const Store& store, const Heap& heap) {
  if (store.HasXPlaneDetails(heap)) return WithoutPhases(heap);
  Timeline timeline;
  timeline.step_of_event.assign(heap.events.size(), kNone);
  const std::vector<std::optional<Phase>> named = PhasesNamedByProgram(store, heap);
  PythonCalls calls;
  StackEvidence evidence;
  std::vector<LoopJump>& jumps = timeline.loop_jumps;
  if (HasEventStacks(store, heap)) {
    calls = FindPythonCalls(store);
    jumps = FindLoopJumps(store, heap, calls);
    evidence = FindStackEvidence(store);
    StackLabels labels = LabelByStack(store, heap, calls, evidence, jumps, named);
    MarkInnerGradients(store, heap, labels);
    NameOwnUpdates(store, heap, labels);
    MarkEvaluation(store, heap, labels);
    for (uint32_t seq = 0; seq < named.size(); ++seq) {
      // What a forward is for, its stack does not show.
      if (named[seq] && IsForwardOrEval(labels.phase[seq]) && IsInference(*named[seq])) labels.phase[seq] = *named[seq];
    }
    timeline.basis = PhaseBasis::kStack;
    timeline.phase_of_event = std::move(labels.phase);
    timeline.is_plain = std::move(labels.is_plain);
  } else {
    timeline.basis = PhaseBasis::kOrder;
    timeline.phase_of_event = LabelByOrder(store, heap);
    for (uint32_t seq = 0; seq < named.size(); ++seq) {
      if (!named[seq]) continue;
      timeline.phase_of_event[seq] = *named[seq];
      timeline.basis = PhaseBasis::kAnnotation;
    }
    timeline.is_plain.assign(heap.events.size(), false);
  }
  std::vector<uint32_t> begins = StepsByAnnotations(store, heap);
  if (begins.empty()) begins = FindStepBegins(store, heap, timeline.phase_of_event, calls, jumps);
  const bool is_inference = !HasBackward(timeline.phase_of_event);
  const std::vector<GenerationRequest> requests = FindGenerations(store, heap, timeline.phase_of_event);
  const bool shows_steps = begins.size() > 1 && timeline.basis != PhaseBasis::kOrder;
  if (!shows_steps && !requests.empty()) {
    begins = StepsOfRequests(requests);
  } else if (begins.size() < 2 && is_inference) {
    const bool calls_model = timeline.basis == PhaseBasis::kStack && HasModelCall(timeline.phase_of_event);
    std::vector<uint32_t> periodic = FindPeriodicSteps(store, heap, calls_model);
    // Layers of a model that is loaded repeat themselves too.
    std::erase_if(periodic, [&](uint32_t seq) { return timeline.phase_of_event[seq] == Phase::kLoad; });
    // So do those of a model in one call, which stacks show to be one: the program does nothing between them.
    const bool is_one_call = calls_model && !HasOwnWorkInEach(store, heap, evidence, periodic);
    if (periodic.size() > 1 && !is_one_call) {
      begins = std::move(periodic);
      if (!HasModelCall(timeline.phase_of_event)) timeline.basis = PhaseBasis::kPeriod;
    } else if (timeline.basis == PhaseBasis::kOrder && !begins.empty()) {
      if (std::vector<uint32_t> alike = FindPeriodicLifetimes(store, heap, begins[0]); alike.size() > 1)
        begins = std::move(alike);
    }
  }
  CutSteps(timeline, begins, heap.events.size());
  if (is_inference) {
    JoinCallsOfSteps(timeline);
    MarkGeneration(store, heap, timeline);
    MarkRequests(requests, timeline);
  }
  CutPhases(timeline);
  MarkIncompleteSteps(store, heap, timeline);
  return timeline;
}

}  // namespace memstrata
