#include "plan/engine_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace memstrata::plan {
namespace {

using enum CacheFormat;

Status Refuse(std::string text) { return Fail(ErrorCode::kInvalidArgument, std::move(text)); }

bool ServesOnly(Engine engine) {
  return engine == Engine::kVllm || engine == Engine::kSglang || engine == Engine::kLlamaCpp;
}

bool TrainsOnly(Engine engine) {
  return engine == Engine::kTorchtitan || engine == Engine::kMegatron || engine == Engine::kDeepSpeed;
}

Status CheckTask(const Workload& w) {
  if (ServesOnly(w.engine) && w.task != Task::kServe) {
    return Refuse(fmt::format("{} serves; give --task serve, or for {} another engine.", Name(w.engine),
                              w.task == Task::kTrain ? "training" : "a step without a server"));
  }
  if (TrainsOnly(w.engine) && w.task == Task::kServe)
    return Refuse(
        fmt::format("{} trains; for serving there are vllm, sglang, llama.cpp, torch and jax.", Name(w.engine)));
  return {};
}

Status CheckWeights(const Workload& w) {
  if (w.weight_format == WeightFormat::kAsPrecision) return {};
  if (w.task == Task::kTrain && !w.TrainsAdapters()) {
    return Refuse(
        fmt::format("Weights in {} are not trained: they have no gradients. Train adapters over them "
                    "(--lora-rank 16), or the weights in the precision (leave out --weights).",
                    Name(w.weight_format)));
  }
  if (HoldsWeights(w.engine, w.weight_format)) return {};
  if (IsGgufMix(w.weight_format))
    return Refuse(fmt::format("{} is a format of GGUF files, which {} does not keep; give --engine llama.cpp.",
                              Name(w.weight_format), Name(w.engine)));
  return Refuse(
      fmt::format("{} reads GGUF files, and those have no {}; give a mix like q4_k_m or q8_0, mxfp4, or same.",
                  Name(w.engine), Name(w.weight_format)));
}

std::vector<CacheFormat> CacheFormatsOf(const Workload& w) {
  const bool is_float32 = w.precision == Precision::kFloat32;
  std::vector<CacheFormat> formats;
  switch (w.engine) {
    case Engine::kVllm:
      formats = {k16, k8, k8Scaled, kFp8Latent, kNvfp4};
      break;
    case Engine::kSglang:
      formats = {k16, k8, kFp8Latent, kNvfp4};
      break;
    case Engine::kLlamaCpp:
      return {k16, k32, kQ8_0, kQ5_1, kQ5_0, kQ4_1, kQ4_0};
    default:  // in the precision of the computation
      return {is_float32 ? k32 : k16};
  }
  if (is_float32) formats.push_back(k32);
  return formats;
}

bool KeepsLatent(const ModelDescription& model) {
  return std::any_of(model.cache.begin(), model.cache.end(),
                     [](const CacheLayer& layer) { return layer.kind == CacheLayer::Kind::kLatent; });
}

Status CheckCache(const PlanRequest& request) {
  const Workload& w = request.workload;
  if (w.task == Task::kTrain || !w.given.contains("kv-bits")) return {};  // a step of training keeps no sessions
  const std::vector<CacheFormat> formats = CacheFormatsOf(w);
  if (std::find(formats.begin(), formats.end(), w.cache_format) == formats.end()) {
    std::string names;
    for (const CacheFormat format : formats) names += fmt::format("{}{}", names.empty() ? "" : ", ", Name(format));
    return Refuse(fmt::format("{} has no cache in {} in {}; it has {}.", Name(w.engine), Name(w.cache_format),
                              Name(w.precision), names));
  }
  if (w.cache_format == kFp8Latent && !request.model.cache.empty() && !KeepsLatent(request.model))
    return Refuse("fp8_ds_mla is for latent vectors (MLA); this model keeps keys and values.");
  return {};
}

// Heads of keys are divided among ranks, or copied to as many whole times.
Status CheckKeyHeads(const ModelDescription& model, int64_t ranks) {
  for (const CacheLayer& layer : model.cache) {
    if (layer.kind == CacheLayer::Kind::kLatent || layer.kv_heads == 0) continue;
    const bool divides = layer.kv_heads >= ranks ? layer.kv_heads % ranks == 0 : ranks % layer.kv_heads == 0;
    if (!divides)
      return Refuse(fmt::format("{} heads of keys and values cannot be divided among {} tensor-parallel ranks.",
                                layer.kv_heads, ranks));
  }
  return {};
}

Status CheckServingDegrees(const PlanRequest& request) {
  const Workload& w = request.workload;
  const Parallel& p = w.parallel;
  if (w.task != Task::kServe) return {};
  if (p.context > 1 && w.engine != Engine::kVllm)
    return Refuse(
        fmt::format("A cache that ranks share by context (cp) is planned for vllm, not for {}.", Name(w.engine)));
  if (p.tensor > 1 && w.engine == Engine::kLlamaCpp)
    return Refuse("llama.cpp divides a model among devices by layers: give pp instead of tp.");
  if (p.sharding != Sharding::kNone || p.virtual_stages > 1)
    return Refuse("zero, fsdp and vpp are of training; serving has tp, pp, ep, dp and cp.");
  return w.engine == Engine::kLlamaCpp ? Status{} : CheckKeyHeads(request.model, p.tensor);
}

}  // namespace

bool HoldsWeights(Engine engine, WeightFormat format) {
  if (format == WeightFormat::kAsPrecision) return true;
  if (engine == Engine::kLlamaCpp) return IsGgufMix(format) || format == WeightFormat::kMxfp4;
  return !IsGgufMix(format) || engine == Engine::kVllm || engine == Engine::kSglang;
}

Status CheckEngine(const PlanRequest& request) {
  MEMSTRATA_TRY(CheckTask(request.workload));
  MEMSTRATA_TRY(CheckWeights(request.workload));
  MEMSTRATA_TRY(CheckCache(request));
  return CheckServingDegrees(request);
}

}  // namespace memstrata::plan
