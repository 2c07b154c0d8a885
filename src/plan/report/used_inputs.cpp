#include "plan/report/used_inputs.h"

#include <algorithm>
#include <iterator>

namespace memstrata::plan {
namespace {

bool IsIn(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsOfTask(const Workload& w, std::string_view input) {
  if (IsIn(input, {"accumulation", "optimizer", "recompute", "loss", "keep-outputs", "grads-to-none", "clip-gradients",
                   "deferred-head-gradients", "adapter", "lora-rank", "lora-targets", "lora-dropout", "offload",
                   "grouped-experts", "gathered-tokens", "frozen-gathered"}))
    return w.task == Task::kTrain;
  if (IsIn(input, {"concurrency", "batched-tokens", "memory-fraction"})) return w.task == Task::kServe;
  if (IsIn(input, {"batch", "attention", "mask", "use-cache", "compile", "deterministic", "logits-to-keep",
                   "target-sequence"}))
    return w.task != Task::kServe;
  if (IsIn(input, {"kv-bits", "new-tokens"})) return w.task == Task::kGenerate || w.task == Task::kServe;
  return true;
}

bool IsOfModel(const ModelDescription& model, std::string_view input) {
  const DecoderSpec* decoder = model.decoder();
  if (IsIn(input, {"images", "image-tokens"})) return model.vision.has_value();
  if (input == "target-sequence") return model.encoder_layers > 0 || std::holds_alternative<T5Spec>(model.step);
  if (IsIn(input, {"grouped-experts", "gathered-tokens"})) return decoder != nullptr && decoder->experts.count > 0;
  const auto* encoder = std::get_if<EncoderSpec>(&model.step);
  const bool has_tokens = model.hidden > 0 && !(encoder != nullptr && !encoder->text);
  if (IsIn(input, {"sequence", "mask", "use-cache", "logits-to-keep"})) return has_tokens;
  return input != "loss" || model.vocabulary > 0;
}

bool IsOfEngine(const Plan& plan, std::string_view input) {
  const Workload& w = plan.workload;
  const bool is_eager =
      w.engine == Engine::kTorch && w.parallel.DeviceCount() == w.parallel.data && plan.model.HasSimulatedStep();
  if (IsIn(input, {"mask", "use-cache", "keep-outputs", "grads-to-none", "logits-to-keep"})) return is_eager;
  if (input == "attention") return is_eager || w.engine == Engine::kMegatron;
  if (IsIn(input, {"grouped-experts", "gathered-tokens", "deferred-head-gradients"}))
    return w.engine == Engine::kMegatron;
  if (input == "compile") return w.engine != Engine::kMegatron && w.engine != Engine::kJax;
  if (input == "deterministic") return w.engine != Engine::kJax;
  if (input == "memory-fraction") return TakesShare(w);
  return input != "batched-tokens" || w.engine != Engine::kLlamaCpp;
}

// A default that stands for "not there": what it would bring is under what the plan leaves out.
bool IsAbsence(const Workload& w, std::string_view input) {
  if (IsIn(input, {"devices", "data", "data-workers", "draft-tokens", "clip-gradients"})) return true;
  if (input == "frozen-gathered") return !w.TrainsAdapters() || w.parallel.sharding != Sharding::kZero3;
  if (IsIn(input, {"adapter", "lora-targets", "lora-dropout"})) return !w.TrainsAdapters();
  return input == "weights" && w.task == Task::kTrain && !w.TrainsAdapters();
}

}  // namespace

bool IsUsed(const Plan& plan, std::string_view input) {
  const Workload& w = plan.workload;
  if (w.given.contains(input)) return true;
  if (IsFloor(plan.model)) {  // a file's tensors have types of their own
    return input == "parallel" || (!plan.model.stored_weight_bytes && IsIn(input, {"precision", "weights"}));
  }
  return IsOfTask(w, input) && IsOfModel(plan.model, input) && IsOfEngine(plan, input) && !IsAbsence(w, input);
}

}  // namespace memstrata::plan
