#include "plan/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata::plan {
namespace {

std::string ComputeFormat(const Workload& workload) {
  switch (workload.weight_format) {
    case WeightFormat::kFp8:
      return "fp8";
    case WeightFormat::kMxfp4:
      return "mxfp4";
    case WeightFormat::kNvfp4:
      return "nvfp4";
    case WeightFormat::kInt8:
      return "int8";
    default:
      break;  // the others are unpacked to the precision before they are multiplied
  }
  switch (workload.precision) {
    case Precision::kBfloat16:
    case Precision::kBfloat16Autocast:
      return "bf16";
    case Precision::kFloat16:
    case Precision::kFloat16Autocast:
      return "fp16";
    case Precision::kFloat32:
      return "fp32";
  }
  return "fp32";
}

struct Change {
  std::string_view input;
  std::string value;
  std::string text;
};

std::vector<Change> Candidates(const Workload& w) {
  std::vector<Change> changes;
  if (w.task == Task::kTrain) {
    if (w.recompute == Recompute::kNone)
      changes.push_back({"recompute", "full", "recompute activations (about a third more computing)"});
    if (w.batch > 1)
      changes.push_back({"batch", std::to_string(w.batch / 2),
                         fmt::format("halve the micro-batch to {} and accumulate", w.batch / 2)});
    if (w.optimizer == OptimizerName::kAdamW)
      changes.push_back({"optimizer", "adamw_fused", "use fused AdamW (no temporaries in the step)"});
    if (w.optimizer != OptimizerName::kAdamW8bit && w.lora_rank == 0)
      changes.push_back({"optimizer", "adamw_8bit", "keep optimizer states in 8 bits"});
    if (w.lora_rank == 0)
      changes.push_back({"lora-rank", "16",
                         "train LoRA adapters of rank 16 instead of all weights (another result: verify the output)"});
  } else {
    if (w.weight_format == WeightFormat::kAsPrecision)
      changes.push_back({"weights", "fp8", "keep weights in fp8 (verify the output)"});
    if (w.concurrency > 1)
      changes.push_back({"concurrency", std::to_string(w.concurrency / 2),
                         fmt::format("serve {} sessions at a time", w.concurrency / 2)});
    if (w.batch > 1)
      changes.push_back({"batch", std::to_string(w.batch / 2), fmt::format("halve the batch to {}", w.batch / 2)});
    if (w.cache_format == CacheFormat::k16 && w.task == Task::kServe)
      changes.push_back({"kv-bits", "8", "keep the cache in 8 bits (verify the output)"});
  }
  if (w.sequence > 256)
    changes.push_back(
        {"sequence", std::to_string(w.sequence / 2), fmt::format("halve the sequence to {}", w.sequence / 2)});
  return changes;
}

}  // namespace

std::vector<std::string> UnsupportedFormats(const Card& card, const Workload& workload) {
  if (card.formats.empty()) return {};
  const std::string needed = ComputeFormat(workload);
  if (std::find(card.formats.begin(), card.formats.end(), needed) != card.formats.end()) return {};
  return {needed};
}

std::vector<std::string> SuggestChanges(const PlanRequest& request, const Plan& plan) {
  PlanRequest trial = TrialOf(request);
  std::vector<std::pair<int64_t, std::string>> found;
  for (const Change& change : Candidates(request.workload)) {
    trial.workload = request.workload;
    if (!SetInput(trial.workload, change.input, change.value)) continue;
    const Result<Plan> after = MakePlan(trial);
    if (!after) continue;
    const auto saved =
        static_cast<int64_t>(plan.WorstDevice().total_bytes) - static_cast<int64_t>(after->WorstDevice().total_bytes);
    if (saved <= 0) continue;
    const bool fits = after->fits == true;
    found.emplace_back(saved,
                       fmt::format("{}: saves {}{}", change.text, FormatBytes(saved), fits ? ", then it fits" : ""));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (auto& [saved, text] : found) texts.push_back(std::move(text));
  return texts;
}

}  // namespace memstrata::plan
