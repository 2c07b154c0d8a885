#include "analysis/phases/stack_evidence.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata {
namespace {

enum FrameMark : uint16_t {
  kMarkCallsAgain = 2,  // runs a checkpointed function again
  kMarkOptimizer = 4,
  kMarkZeroGrad = 8,
  kMarkClip = 16,
  kMarkBackward = 32,
  kMarkLoss = 64,
  kMarkModuleCall = 128,
  kMarkModelForward = 256,  // a forward that is not the one of a loss module
  kMarkLoad = 512,
  kMarkInput = 1024,
  kMarkAutogradApply = 2048,
  kMarkNative = 4096,  // no Python frame
  kMarkMainThread = 8192,
  kMarkContext = 16384,  // enters or leaves a context manager
  kMarkStep = 32768,     // step of an optimizer, PyTorch's or the program's own, and what it calls
};

/// A frame matches when `file` is part of its path and `function` is its name (or part of it, with `partial`).
struct Rule {
  std::string_view file;
  std::string_view function;
  uint16_t marks;
  bool partial = false;
};

// Names of PyTorch's own functions and of libraries around it; docs/explanation/phases.md says why each is evidence.
constexpr Rule kRules[] = {
    {"torch/utils/checkpoint.py", "unpack_hook", kMarkBackward},
    {"torch/utils/checkpoint.py", "recompute_fn", kMarkCallsAgain | kMarkBackward},
    {"torch/utils/checkpoint.py", "backward", kMarkCallsAgain | kMarkBackward},
    {"", "__exit__", kMarkContext},
    {"", "__enter__", kMarkContext},
    {"torch/optim/optimizer.py", "zero_grad", kMarkZeroGrad},
    {"", "zero_grad", kMarkZeroGrad},
    {"torch/optim/lr_scheduler.py", "", 0, true},
    {"torch/optim/swa_utils.py", "", 0, true},
    {"torch/optim/optimizer.py", "wrapper", kMarkOptimizer},
    {"torch/optim/optimizer.py", "profile_hook_step", kMarkOptimizer},
    {"torch/optim/", "step", kMarkOptimizer | kMarkStep},
    {"torch/optim/", "_multi_tensor_", kMarkOptimizer, true},
    {"torch/optim/", "_single_tensor_", kMarkOptimizer, true},
    {"torch/optim/", "_fused_", kMarkOptimizer, true},
    {"torch/optim/", "_init_group", kMarkOptimizer},
    {"torch/amp/grad_scaler.py", "step", kMarkOptimizer},
    {"torch/cuda/amp/grad_scaler.py", "step", kMarkOptimizer},
    {"torch/amp/grad_scaler.py", "update", kMarkOptimizer},
    {"torch/cuda/amp/grad_scaler.py", "update", kMarkOptimizer},
    {"torch/amp/grad_scaler.py", "unscale_", kMarkClip},
    {"torch/cuda/amp/grad_scaler.py", "unscale_", kMarkClip},
    {"accelerate/optimizer.py", "step", kMarkOptimizer},
    {"bitsandbytes/optim/", "step", kMarkOptimizer},
    {"apex/optimizers/", "step", kMarkOptimizer},
    {"deepspeed/", "step", kMarkOptimizer},
    {"", "optimizer_step", kMarkOptimizer},
    {"", "optimizer", kMarkOptimizer},
    {"torch/nn/utils/clip_grad.py", "", kMarkClip, true},
    {"", "clip_grad_norm_", kMarkClip},
    {"", "clip_grad_value_", kMarkClip},
    {"torch/autograd/__init__.py", "_make_grads", kMarkBackward},
    {"torch/autograd/__init__.py", "backward", kMarkBackward},
    {"torch/autograd/__init__.py", "grad", kMarkBackward},
    {"torch/_tensor.py", "backward", kMarkBackward},
    {"torch/autograd/graph.py", "_engine_run_backward", kMarkBackward},
    {"", "torch::autograd::Engine::", kMarkBackward, true},
    {"", "torch::autograd::PythonEngine::", kMarkBackward, true},
    {"", "torch::autograd::python::PythonEngine::", kMarkBackward, true},
    {"runtime_wrappers.py", "_backward_impl", kMarkBackward},
    {"", "backward", kMarkBackward},
    {"torch/autograd/function.py", "apply", kMarkAutogradApply},
    {"torch/nn/modules/loss.py", "forward", kMarkLoss},
    {"torch/nn/functional.py", "cross_entropy", kMarkLoss},
    {"torch/nn/functional.py", "_loss", kMarkLoss, true},
    {"torch/nn/functional.py", "binary_cross_entropy", kMarkLoss, true},
    {"torch/nn/functional.py", "kl_div", kMarkLoss},
    {"torch/nn/modules/module.py", "_call_impl", kMarkModuleCall},
    {"torch/nn/modules/module.py", "inner", kMarkModuleCall},
    {"", "forward", kMarkModelForward | kMarkModuleCall},
    {"torch/nn/modules/module.py", "_apply", kMarkLoad},
    {"torch/nn/modules/module.py", "load_state_dict", kMarkLoad},
    {"torch/nn/modules/module.py", "to_empty", kMarkLoad},
    {"torch/nn/parameter.py", "__deepcopy__", kMarkLoad},
    {"", "from_pretrained", kMarkLoad},
    {"", "reset_parameters", kMarkLoad},
    {"torch/nn/modules/", "__init__", kMarkLoad},
    {"torch/utils/_device.py", "__torch_function__", kMarkLoad},
    {"torch/optim/", "__init__", kMarkLoad},
    {"torch/nn/parallel/distributed.py", "__init__", kMarkLoad},
    {"torch/distributed/fsdp/_fully_shard/_fully_shard.py", "fully_shard", kMarkLoad},
    {"torch/distributed/fsdp/", "__init__", kMarkLoad},
    {"torch/utils/data/", "", kMarkInput, true},
    {"", "send_to_device", kMarkInput},
    {"", "step", kMarkStep},
    {"torch/optim/", "", kMarkStep, true},
    {"", "<module>", kMarkMainThread},
    {"", "_run_module_as_main", kMarkMainThread},
};

bool IsNative(std::string_view file) { return !file.ends_with(".py") && !file.starts_with('<'); }

uint16_t MarksOf(std::string_view file, std::string_view function) {
  for (const Rule& rule : kRules) {
    const bool names =
        rule.partial ? function.find(rule.function) != std::string_view::npos : function == rule.function;
    if (names && file.find(rule.file) != std::string_view::npos) return rule.marks;
  }
  return 0;
}

std::vector<uint16_t> MarkFrames(const Store& store) {
  const FrameTable& frames = store.stacks.frames();
  std::vector<uint16_t> marks(frames.size());
  for (uint32_t row = 0; row < frames.size(); ++row)
    marks[row] = MarksOf(store.String(frames.file[row]), store.String(frames.function[row])) |
                 (IsNative(store.String(frames.file[row])) ? kMarkNative : 0);
  return marks;
}

// Optimizer.step(closure): the optimizer calls back into the program, which runs the model and its backward there. What
// lies in the closure is named by its own frames, as if the program had called it.
bool StartsClosure(std::optional<Phase> caller, uint16_t caller_own, bool caller_calls_model, uint16_t own) {
  const bool is_of_optimizer = (own & (kMarkOptimizer | kMarkStep)) != 0;
  return caller == Phase::kOptimizer && (caller_own & kMarkStep) != 0 && caller_calls_model && !is_of_optimizer;
}

// The phase of a node from the phase of its caller, the marks of all its callers and its own.
std::optional<Phase> PhaseOf(std::optional<Phase> caller, uint16_t above, uint16_t own) {
  if (caller == Phase::kRecompute) return caller;
  if (caller == Phase::kBackward) {
    // A reentrant checkpoint calls the function again from its own backward, and then the engine.
    // Frames of C++ lie between Python's, those of the engine's threads as well.
    const bool calls_again =
        (above & kMarkCallsAgain) != 0 && (own & (kMarkBackward | kMarkContext | kMarkNative)) == 0;
    return calls_again ? Phase::kRecompute : Phase::kBackward;
  }
  if (caller == Phase::kOptimizer || caller == Phase::kZeroGrad || caller == Phase::kClip) return caller;
  if ((own & kMarkZeroGrad) != 0) return Phase::kZeroGrad;
  if ((own & kMarkClip) != 0) return Phase::kClip;
  if ((own & kMarkOptimizer) != 0) return Phase::kOptimizer;
  if ((own & kMarkBackward) != 0) return Phase::kBackward;
  if (caller == Phase::kLoad) return caller;
  if ((own & kMarkLoss) != 0) return (above & kMarkModelForward) != 0 ? Phase::kForward : Phase::kLoss;
  if (caller) return caller;
  if ((own & kMarkModuleCall) != 0) return Phase::kForward;
  if ((own & kMarkLoad) != 0) return Phase::kLoad;
  if ((own & kMarkInput) != 0) return Phase::kInput;
  return std::nullopt;
}

// Nodes from which a module or the backward is called, at any depth.
std::vector<bool> CallersOfModel(const StackTable& stacks, const std::vector<uint16_t>& frame_marks) {
  std::vector<bool> calls_model(stacks.size(), false);
  for (size_t row = stacks.size(); row-- > 1;) {  // parents come first
    const bool is_call = (frame_marks[stacks.frame[row].value] & (kMarkModuleCall | kMarkBackward)) != 0;
    if (is_call || calls_model[row]) calls_model[stacks.parent[row].value] = true;
  }
  return calls_model;
}

constexpr uint32_t BitOf(Phase phase) { return 1U << static_cast<uint32_t>(phase); }

std::optional<Phase> OnlyPhase(uint32_t bits) {
  for (size_t i = 0; i < std::size(kPhaseNames); ++i) {
    if (bits == 1U << i) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

// A step of an optimizer of the program's own: so it calls itself, and all that it calls are parts of updates.
bool IsOwnStep(std::string_view function, uint32_t phases_below) {
  constexpr uint32_t kOfUpdates = BitOf(Phase::kOptimizer) | BitOf(Phase::kZeroGrad) | BitOf(Phase::kClip);
  return phases_below != 0 && (phases_below & ~kOfUpdates) == 0 && function.find("step") != std::string_view::npos;
}

// Nodes that name no phase take the one phase that is found below them, or else that of their caller when all that it
// called from that line has one. Another line of the same function is other work. A backward starts itself: what is
// called beside it is what it is of.
void SpreadFromSiblings(const Store& store, std::vector<std::optional<Phase>>& phase) {
  const StackTable& stacks = store.stacks.stacks();
  const FrameTable& frames = store.stacks.frames();
  const auto key = [&](size_t row) {
    return static_cast<uint64_t>(stacks.parent[row].value) << 32 | frames.function[stacks.frame[row].value].value;
  };
  std::vector<uint32_t> below(stacks.size(), 0);
  FlatMap<uint64_t, uint32_t> below_function;  // (caller, function) → phases that lines of it name
  for (size_t row = stacks.size(); row-- > 1;) {
    if (phase[row]) below[row] |= BitOf(*phase[row]);
    below[stacks.parent[row].value] |= below[row];
    if (below[row] != 0) below_function[key(row)] |= below[row];
  }
  std::vector<std::optional<Phase>> spread(stacks.size());
  for (size_t row = 1; row < stacks.size(); ++row) {
    const uint32_t parent = stacks.parent[row].value;
    if (below[row] != 0) {
      spread[row] = OnlyPhase(below[row]);
    } else if (const auto beside = below_function.find(key(row)); beside != below_function.end()) {
      if (IsOwnStep(store.String(frames.function[stacks.frame[row].value]), beside->second))
        spread[row] = Phase::kOptimizer;
    } else if (parent != 0 && spread[parent] != Phase::kBackward) {
      spread[row] = spread[parent];
    }
  }
  for (size_t row = 1; row < stacks.size(); ++row) {
    if (!phase[row]) phase[row] = spread[row];
  }
}

}  // namespace

StackEvidence FindStackEvidence(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  const std::vector<uint16_t> frame_marks = MarkFrames(store);
  const std::vector<bool> calls_model = CallersOfModel(stacks, frame_marks);
  StackEvidence evidence;
  evidence.phase.resize(stacks.size());
  evidence.is_engine_thread.resize(stacks.size());
  evidence.is_in_closure.resize(stacks.size());
  evidence.is_in_model.resize(stacks.size());
  std::vector<uint16_t> marks(stacks.size(), 0);
  std::vector<uint32_t> outermost(stacks.size(), 0);
  std::vector<bool> is_main(stacks.size(), false);      // of outermost nodes
  for (uint32_t row = 1; row < stacks.size(); ++row) {  // parents come first
    const uint32_t parent = stacks.parent[row].value;
    const uint16_t own = frame_marks[stacks.frame[row].value];
    // What the engine calls is no checkpointed function until one is called again.
    const bool enters_engine = (own & kMarkBackward) != 0 && (own & kMarkCallsAgain) == 0;
    marks[row] = static_cast<uint16_t>((enters_engine ? marks[parent] & ~kMarkCallsAgain : marks[parent]) | own);
    evidence.is_in_model[row] = (marks[row] & kMarkModuleCall) != 0;
    outermost[row] = parent == 0 ? row : outermost[parent];
    const bool starts_in_engine = parent == 0 && (own & kMarkAutogradApply) != 0;
    const uint16_t caller_own = parent == 0 ? 0 : frame_marks[stacks.frame[parent].value];
    std::optional<Phase> caller = evidence.phase[parent];
    const bool starts_closure = StartsClosure(caller, caller_own, calls_model[parent], own);
    evidence.is_in_closure[row] = starts_closure || evidence.is_in_closure[parent];
    if (starts_closure) caller.reset();
    evidence.phase[row] = starts_in_engine ? Phase::kBackward : PhaseOf(caller, marks[parent], own);
    const std::optional<Phase> phase = evidence.phase[row];
    const bool only_main = phase == Phase::kOptimizer || phase == Phase::kZeroGrad || phase == Phase::kLoad ||
                           (own & kMarkMainThread) != 0;
    if (only_main) is_main[outermost[row]] = true;
  }
  SpreadFromSiblings(store, evidence.phase);
  // Threads can be told apart only where something shows which one is the program's own.
  const bool knows_main = std::find(is_main.begin(), is_main.end(), true) != is_main.end();
  for (uint32_t row = 1; row < stacks.size(); ++row)
    evidence.is_engine_thread[row] = knows_main && !is_main[outermost[row]];
  return evidence;
}

}  // namespace memstrata
