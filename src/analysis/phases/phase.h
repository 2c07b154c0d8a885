#pragma once
// The parts of a training or inference step, and where they lie in a heap's events. What each phase means:
// docs/explanation/phases.md.

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/phases/loop_jumps.h"
#include "model/store/tables.h"

namespace memstrata {

enum class Phase : uint8_t {
  kLoad,   // parameters and buffers come to the device
  kInput,  // a batch comes to the device
  kForward,
  kLoss,
  kBackward,
  kRecompute,  // a checkpointed function runs again inside the backward
  kClip,       // gradients are unscaled or clipped
  kOptimizer,
  kZeroGrad,
  kEval,     // a forward without a backward, inside or outside training
  kPrefill,  // the first forward of a generation, over the whole prompt
  kDecode,   // a later forward of a generation
  kOther,
};
inline constexpr std::string_view kPhaseNames[] = {
    "load",      "input",     "forward", "loss",    "backward", "recompute", "clip",
    "optimizer", "zero_grad", "eval",    "prefill", "decode",   "other",
};

/// A forward with a backward, the loss included.
constexpr bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }
/// With a backward or without; a generation's have phases of their own.
constexpr bool IsForwardOrEval(Phase phase) { return IsForward(phase) || phase == Phase::kEval; }
constexpr bool IsBackward(Phase phase) { return phase == Phase::kBackward || phase == Phase::kRecompute; }
/// What comes between a backward and the next forward.
constexpr bool IsUpdate(Phase phase) {
  return phase == Phase::kClip || phase == Phase::kOptimizer || phase == Phase::kZeroGrad;
}
/// A call of the model that no backward follows.
constexpr bool IsInference(Phase phase) {
  return phase == Phase::kEval || phase == Phase::kPrefill || phase == Phase::kDecode;
}

/// What a phase was recognised by; the confidence falls in this order.
enum class PhaseBasis : uint8_t { kAnnotation, kStack, kOrder, kPeriod };
inline constexpr std::string_view kPhaseBasisNames[] = {"annotation", "stack", "order", "period"};

struct PhaseSpan {
  Phase phase = Phase::kOther;
  uint32_t step = kNone;  // index into Timeline::steps; kNone outside all steps
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;  // exclusive
};

struct StepSpan {
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  bool is_complete = true;  // false: the recording starts or ends inside it
};

/// Steps and phases of one heap. Phases tile the events without a gap, or there are none (XLA). So do steps from the
/// begin of the first one on.
struct Timeline {
  PhaseBasis basis = PhaseBasis::kStack;
  std::vector<StepSpan> steps;
  std::vector<PhaseSpan> phases;
  std::vector<Phase> phase_of_event;    // [event_count]
  std::vector<bool> is_plain;           // [event_count] the stack names no phase: work of the program itself
  std::vector<uint32_t> step_of_event;  // [event_count], kNone before the first step
  std::vector<LoopJump> loop_jumps;     // in order of events; empty without call stacks

  bool Has(Phase phase) const {
    for (const PhaseSpan& span : phases) {
      if (span.phase == phase) return true;
    }
    return false;
  }
};

}  // namespace memstrata
