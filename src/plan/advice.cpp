#include "plan/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"

namespace memstrata::plan {
namespace {

std::string_view PrecisionFormat(Precision precision) {
  switch (precision) {
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

// The format that the weights are multiplied in as they are stored; empty where they are unpacked first.
std::string_view MultipliedFormat(WeightFormat format) {
  switch (format) {
    case WeightFormat::kFp8:
      return "fp8";
    case WeightFormat::kMxfp4:
      return "mxfp4";
    case WeightFormat::kNvfp4:
      return "nvfp4";
    case WeightFormat::kInt8:
      return "int8";
    default:
      return "";
  }
}

// Serving engines have kernels that unpack such weights on the way to 16-bit products (Marlin, from Ampere on);
// bitsandbytes and transformers unpack 8-bit integers and 4-bit blocks on any card with CUDA.
bool UnpacksWeights(const Card& card, const Workload& workload) {
  constexpr double kAmpere = 8.0;
  if (workload.engine == Engine::kLlamaCpp) return true;
  if (card.vendor != "nvidia") return false;
  if (workload.engine == Engine::kVllm || workload.engine == Engine::kSglang) return card.compute_capability >= kAmpere;
  return workload.weight_format == WeightFormat::kMxfp4 && workload.engine == Engine::kTorch;
}

bool ComputesIn(const Card& card, std::string_view format) {
  return std::find(card.formats.begin(), card.formats.end(), format) != card.formats.end();
}

struct Change {
  std::string_view input;
  std::string value;
  std::string text;
};

// What the card computes in instead of a format that it lacks.
void AddPrecisions(const Workload& w, const Card& card, std::vector<Change>& changes) {
  const bool is_autocast = w.precision == Precision::kBfloat16Autocast || w.precision == Precision::kFloat16Autocast;
  for (const char* format : {"bf16", "fp16", "fp32"}) {
    if (format == PrecisionFormat(w.precision) || !ComputesIn(card, format)) continue;
    const bool is_mixed = is_autocast && std::string_view(format) != "fp32";
    changes.push_back({"precision", is_mixed ? fmt::format("{}_autocast", format) : format,
                       fmt::format("compute in {} instead (verify the output)", format)});
  }
}

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
    const bool is_llama_cpp = w.engine == Engine::kLlamaCpp;
    std::vector<std::string> formats;
    if (w.weight_format == WeightFormat::kAsPrecision) formats = {"fp8"};
    if (w.weight_format == WeightFormat::kAsPrecision && is_llama_cpp) formats = {"q8_0", "q4_k_m", "q2_k"};
    for (const std::string& format : formats)
      changes.push_back({"weights", format, fmt::format("keep weights in {} (verify the output)", format)});
    if (w.concurrency > 1)
      changes.push_back({"concurrency", std::to_string(w.concurrency / 2),
                         fmt::format("serve {} sessions at a time", w.concurrency / 2)});
    if (w.batch > 1)
      changes.push_back({"batch", std::to_string(w.batch / 2), fmt::format("halve the batch to {}", w.batch / 2)});
    if (w.cache_format == CacheFormat::k16 && w.task == Task::kServe)
      changes.push_back({"kv-bits", is_llama_cpp ? "q8_0" : "8", "keep the cache in 8 bits (verify the output)"});
  }
  if (w.sequence > 256)
    changes.push_back(
        {"sequence", std::to_string(w.sequence / 2), fmt::format("halve the sequence to {}", w.sequence / 2)});
  return changes;
}

}  // namespace

std::vector<std::string> UnsupportedFormats(const Card& card, const Workload& workload) {
  // llama.cpp unpacks each type of a file to what the card multiplies in.
  if (card.formats.empty() || workload.engine == Engine::kLlamaCpp) return {};
  std::vector<std::string> unsupported;
  const std::string_view precision = PrecisionFormat(workload.precision);
  if (!ComputesIn(card, precision)) unsupported.emplace_back(precision);
  const bool reads_format = workload.task != Task::kTrain || workload.TrainsAdapters();
  const std::string_view weights = reads_format ? MultipliedFormat(workload.weight_format) : "";
  if (!weights.empty() && !ComputesIn(card, weights) && !UnpacksWeights(card, workload))
    unsupported.emplace_back(weights);
  return unsupported;
}

bool IsWeightOnly(const Card& card, const Workload& workload) {
  const std::string_view weights = MultipliedFormat(workload.weight_format);
  return !card.formats.empty() && !weights.empty() && !ComputesIn(card, weights) && UnpacksWeights(card, workload);
}

std::vector<std::string> SuggestChanges(const PlanRequest& request, const Plan& plan) {
  std::vector<Change> candidates = Candidates(request.workload);
  const bool lacks_format = plan.target && !plan.target->unsupported.empty();
  if (lacks_format) {
    AddPrecisions(request.workload, plan.target->card, candidates);
    if (request.workload.weight_format != WeightFormat::kAsPrecision)
      candidates.push_back({"weights", "same", "keep weights in the precision instead"});
  }
  PlanRequest trial = TrialOf(request);
  std::vector<std::pair<int64_t, std::string>> found;
  for (const Change& change : candidates) {
    if (request.progress) request.progress(change.text);
    trial.workload = request.workload;
    if (!SetInput(trial.workload, change.input, change.value)) continue;
    const Result<Plan> after = MakePlan(trial);
    if (!after) continue;
    const auto saved =
        static_cast<int64_t>(plan.WorstDevice().total_bytes) - static_cast<int64_t>(after->WorstDevice().total_bytes);
    const bool fits = after->fits == true;
    // A format that the card has not is no way out, and less memory is no help where a format is what lacks.
    const bool gains_format = lacks_format && after->target->unsupported.empty();
    const size_t lacking = after->target ? after->target->unsupported.size() : 0;
    const bool is_no_help = lacking > 0 && (!lacks_format || plan.target->margin_bytes >= 0);
    if (is_no_help || (lacks_format && lacking > plan.target->unsupported.size())) continue;
    if (saved <= 0 && !gains_format) continue;
    const std::string effect =
        saved > 0 ? fmt::format("saves {}", FormatBytes(saved)) : fmt::format("takes {} more", FormatBytes(-saved));
    const int64_t weight = gains_format ? std::numeric_limits<int64_t>::max() : saved;
    found.emplace_back(weight, fmt::format("{}: {}{}", change.text, effect, fits ? ", then it fits" : ""));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (auto& [weight, text] : found) texts.push_back(std::move(text));
  return texts;
}

}  // namespace memstrata::plan
