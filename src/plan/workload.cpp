#include "plan/workload.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "plan/model/gguf_mix.h"

namespace memstrata::plan {
namespace {

template <class E>
struct Names {
  std::vector<std::pair<E, std::string_view>> entries;

  std::string_view Of(E value) const {
    for (const auto& [entry, name] : entries) {
      if (entry == value) return name;
    }
    return "";
  }
  Result<E> Parse(std::string_view input, std::string_view text) const {
    std::string all;
    for (const auto& [entry, name] : entries) {
      if (name == text) return entry;
      all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
    }
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is one of {}; \"{}\" is not.", input, all, text));
  }
};

const Names<Task>& Tasks() {
  static const Names<Task> kNames{
      {{Task::kTrain, "train"}, {Task::kForward, "forward"}, {Task::kGenerate, "generate"}, {Task::kServe, "serve"}}};
  return kNames;
}
const Names<Engine>& Engines() {
  static const Names<Engine> kNames{{{Engine::kTorch, "torch"},
                                     {Engine::kTorchtitan, "torchtitan"},
                                     {Engine::kMegatron, "megatron"},
                                     {Engine::kDeepSpeed, "deepspeed"},
                                     {Engine::kVllm, "vllm"},
                                     {Engine::kSglang, "sglang"},
                                     {Engine::kLlamaCpp, "llama.cpp"},
                                     {Engine::kJax, "jax"}}};
  return kNames;
}
const Names<Precision>& Precisions() {
  static const Names<Precision> kNames{{{Precision::kFloat32, "fp32"},
                                        {Precision::kBfloat16, "bf16"},
                                        {Precision::kFloat16, "fp16"},
                                        {Precision::kBfloat16Autocast, "bf16_autocast"},
                                        {Precision::kFloat16Autocast, "fp16_autocast"}}};
  return kNames;
}
const Names<WeightFormat>& WeightFormats() {
  static const Names<WeightFormat> kNames{{{WeightFormat::kAsPrecision, "same"}, {WeightFormat::kInt8, "int8"},
                                           {WeightFormat::kFp8, "fp8"},          {WeightFormat::kNf4, "nf4"},
                                           {WeightFormat::kNf4Double, "nf4-dq"}, {WeightFormat::kInt4Group128, "int4"},
                                           {WeightFormat::kMxfp4, "mxfp4"},      {WeightFormat::kNvfp4, "nvfp4"},
                                           {WeightFormat::kQ2K, "q2_k"},         {WeightFormat::kQ3KS, "q3_k_s"},
                                           {WeightFormat::kQ3KM, "q3_k_m"},      {WeightFormat::kQ3KL, "q3_k_l"},
                                           {WeightFormat::kQ4_0, "q4_0"},        {WeightFormat::kQ4KS, "q4_k_s"},
                                           {WeightFormat::kQ4KM, "q4_k_m"},      {WeightFormat::kQ5_0, "q5_0"},
                                           {WeightFormat::kQ5KS, "q5_k_s"},      {WeightFormat::kQ5KM, "q5_k_m"},
                                           {WeightFormat::kQ6K, "q6_k"},         {WeightFormat::kQ8_0, "q8_0"},
                                           {WeightFormat::kIq1S, "iq1_s"},       {WeightFormat::kIq2Xxs, "iq2_xxs"},
                                           {WeightFormat::kIq2M, "iq2_m"},       {WeightFormat::kIq3M, "iq3_m"},
                                           {WeightFormat::kIq4Xs, "iq4_xs"}}};
  return kNames;
}
const Names<CacheFormat>& CacheFormats() {
  static const Names<CacheFormat> kNames{{{CacheFormat::k16, "16"},
                                          {CacheFormat::k32, "32"},
                                          {CacheFormat::k8, "8"},
                                          {CacheFormat::k8Scaled, "8+scales"},
                                          {CacheFormat::kFp8Latent, "fp8_ds_mla"},
                                          {CacheFormat::kQ8_0, "q8_0"},
                                          {CacheFormat::kQ5_1, "q5_1"},
                                          {CacheFormat::kQ5_0, "q5_0"},
                                          {CacheFormat::kQ4_1, "q4_1"},
                                          {CacheFormat::kQ4_0, "q4_0"},
                                          {CacheFormat::kNvfp4, "nvfp4"}}};
  return kNames;
}
const Names<OptimizerName>& Optimizers() {
  using O = OptimizerName;
  static const Names<O> kNames{{{O::kNone, "none"},
                                {O::kAdamW, "adamw"},
                                {O::kAdamWFused, "adamw_fused"},
                                {O::kAdamWForLoop, "adamw_forloop"},
                                {O::kAdamW8bit, "adamw_8bit"},
                                {O::kSgd, "sgd"},
                                {O::kSgdMomentum, "sgd_momentum"},
                                {O::kSgdMomentumForLoop, "sgd_momentum_forloop"},
                                {O::kAdafactorTransformers, "adafactor_hf"},
                                {O::kAdafactorTorch, "adafactor_torch"},
                                {O::kLion, "lion"},
                                {O::kMuon, "muon"}}};
  return kNames;
}
const Names<Recompute>& Recomputes() {
  static const Names<Recompute> kNames{{{Recompute::kNone, "none"},
                                        {Recompute::kSelective, "selective"},
                                        {Recompute::kFull, "full"},
                                        {Recompute::kFullReentrant, "full_reentrant"}}};
  return kNames;
}
const Names<Loss>& Losses() {
  static const Names<Loss> kNames{{{Loss::kPlain, "plain"},
                                   {Loss::kFused, "fused"},
                                   {Loss::kChunked, "chunked"},
                                   {Loss::kLinearFused, "linear_fused"}}};
  return kNames;
}
const Names<AttentionMask>& Masks() {
  static const Names<AttentionMask> kNames{
      {{AttentionMask::kNone, "none"}, {AttentionMask::kOnes, "ones"}, {AttentionMask::kPadded, "padded"}}};
  return kNames;
}
const Names<Adapter>& Adapters() {
  static const Names<Adapter> kNames{
      {{Adapter::kLowRank, "lora"}, {Adapter::kScaleAndBias, "scale_bias"}, {Adapter::kPrompt, "prompt"}}};
  return kNames;
}
const Names<Offload>& Offloads() {
  static const Names<Offload> kNames{
      {{Offload::kNone, "none"}, {Offload::kOptimizer, "optimizer"}, {Offload::kOptimizerAndWeights, "all"}}};
  return kNames;
}
const Names<Sharding>& Shardings() {
  static const Names<Sharding> kNames{{{Sharding::kNone, "none"},
                                       {Sharding::kZero1, "zero1"},
                                       {Sharding::kZero2, "zero2"},
                                       {Sharding::kZero3, "zero3"}}};
  return kNames;
}

// Widths that are written as numbers stand for llama.cpp's formats.
Result<CacheFormat> ParseCacheFormat(std::string_view input, std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kWidths[] = {
      {"8.5", "q8_0"}, {"6", "q5_1"}, {"5.5", "q5_0"}, {"5", "q4_1"}, {"4.5", "q4_0"}, {"f16", "16"}, {"f32", "32"}};
  for (const auto& [width, name] : kWidths) {
    if (text == width) return CacheFormats().Parse(input, name);
  }
  return CacheFormats().Parse(input, text);
}

constexpr int64_t kLargestInput = int64_t{1} << 40;

Result<int64_t> ParseWhole(std::string_view input, std::string_view text, int64_t least) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < least || value > kLargestInput) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} takes a whole number from {} to 2^40, not \"{}\".", input, least, text));
  }
  return value;
}

Result<bool> ParseFlag(std::string_view input, std::string_view text) {
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} takes yes or no, not \"{}\".", input, text));
}

Result<double> ParseShare(std::string_view input, std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 1)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} takes a number from 0 to 1, not \"{}\".", input, text));
  }
  return value;
}

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// "tp=4,dp=2,zero=3"
Status SetParallel(Parallel& parallel, std::string_view text) {
  std::set<std::string_view> named;
  for (const std::string_view part : SplitAt(text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const bool is_second = !named.insert(key == "fsdp" ? "dp" : key).second;
    if (is_second)
      return Fail(
          ErrorCode::kInvalidArgument,
          key == "dp" || key == "fsdp"
              ? "dp is given twice: fsdp is dp with zero=3; for groups that each hold all shards there is replicas."
              : fmt::format("{} is given twice.", key));
    const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    if (key == "sp") {
      MEMSTRATA_ASSIGN_OR_RETURN(parallel.sequence_parallel, ParseFlag("parallel sp", value));
      continue;
    }
    if (key == "zero") {
      MEMSTRATA_ASSIGN_OR_RETURN(const int64_t stage, ParseWhole("parallel zero", value, 0));
      if (stage > 3) return Fail(ErrorCode::kInvalidArgument, "ZeRO has the stages 0 to 3.");
      parallel.sharding = static_cast<Sharding>(stage);
      continue;
    }
    int64_t* degree = key == "tp"                    ? &parallel.tensor
                      : key == "pp"                  ? &parallel.pipeline
                      : key == "cp"                  ? &parallel.context
                      : key == "ep"                  ? &parallel.expert
                      : key == "etp"                 ? &parallel.expert_tensor
                      : key == "dp" || key == "fsdp" ? &parallel.data
                      : key == "group"               ? &parallel.virtual_group
                      : key == "replicas"            ? &parallel.replicas
                      : key == "vpp"                 ? &parallel.virtual_stages
                      : key == "first"               ? &parallel.first_stage_layers
                      : key == "last"                ? &parallel.last_stage_layers
                                                     : nullptr;
    if (degree == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" is no parallel degree; there are tp, pp, cp, ep, "
                              "etp, dp, fsdp, replicas, vpp, group, first, last, sp, zero.",
                              key));
    }
    MEMSTRATA_ASSIGN_OR_RETURN(*degree, ParseWhole(fmt::format("parallel {}", key), value, 1));
    if (key == "fsdp") parallel.sharding = Sharding::kZero3;
  }
  return {};
}

Status SetAsset(Workload& workload, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("An asset is written NAME=SIZE, as scene=3GiB; \"{}\" is not.", text));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text.substr(equals + 1)));
  workload.assets.push_back({std::string(text.substr(0, equals)), bytes});
  return {};
}

// Inputs that are whole numbers.
int64_t* NumberOf(Workload& w, std::string_view name) {
  if (name == "batch") return &w.batch;
  if (name == "sequence") return &w.sequence;
  if (name == "target-sequence") return &w.target_sequence;
  if (name == "new-tokens") return &w.new_tokens;
  if (name == "images") return &w.images;
  if (name == "image-tokens") return &w.image_tokens;
  if (name == "concurrency") return &w.concurrency;
  if (name == "batched-tokens") return &w.batched_tokens;
  if (name == "accumulation") return &w.accumulation;
  if (name == "deferred-head-gradients") return &w.deferred_head_gradients;
  if (name == "logits-to-keep") return &w.logits_to_keep;
  if (name == "lora-rank") return &w.lora_rank;
  if (name == "devices") return &w.devices;
  if (name == "draft-tokens") return &w.draft_tokens;
  if (name == "data-workers") return &w.data_workers;
  return nullptr;
}

bool* FlagOf(Workload& w, std::string_view name) {
  if (name == "use-cache") return &w.use_cache;
  if (name == "keep-outputs") return &w.keeps_outputs;
  if (name == "grads-to-none") return &w.sets_grads_to_none;
  if (name == "clip-gradients") return &w.clips_gradients;
  if (name == "compile") return &w.is_compiled;
  if (name == "deterministic") return &w.is_deterministic;
  if (name == "frozen-gathered") return &w.keeps_frozen_gathered;
  if (name == "grouped-experts") return &w.groups_experts;
  if (name == "gathered-tokens") return &w.gathers_tokens;
  return nullptr;
}

bool MayBeZero(std::string_view name) {
  return name == "target-sequence" || name == "new-tokens" || name == "logits-to-keep" || name == "lora-rank" ||
         name == "draft-tokens" || name == "images" || name == "devices" || name == "image-tokens" ||
         name == "deferred-head-gradients" || name == "data-workers";
}

Status SetChoice(Workload& w, std::string_view name, std::string_view value) {
  if (name == "task") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.task, Tasks().Parse(name, value));
  } else if (name == "engine") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.engine, Engines().Parse(name, value));
  } else if (name == "precision") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.precision, Precisions().Parse(name, value));
  } else if (name == "weights") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.weight_format, WeightFormats().Parse(name, value));
  } else if (name == "kv-bits") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.cache_format, ParseCacheFormat(name, value));
  } else if (name == "optimizer") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.optimizer, Optimizers().Parse(name, value));
  } else if (name == "recompute") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.recompute, Recomputes().Parse(name, value));
  } else if (name == "loss") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.loss, Losses().Parse(name, value));
  } else if (name == "adapter") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.adapter, Adapters().Parse(name, value));
  } else if (name == "offload") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.offload, Offloads().Parse(name, value));
  } else if (name == "mask") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.mask, Masks().Parse(name, value));
  } else if (name == "attention") {
    if (value != "sdpa" && value != "eager")
      return Fail(ErrorCode::kInvalidArgument, fmt::format("attention is sdpa or eager, not \"{}\".", value));
    w.eager_attention = value == "eager";
  } else if (name == "memory-fraction") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.memory_fraction, ParseShare(name, value));
    if (w.memory_fraction == 0)
      return Fail(ErrorCode::kInvalidArgument, "memory-fraction is above 0: with 0 the engine takes nothing.");
  } else if (name == "lora-dropout") {
    MEMSTRATA_ASSIGN_OR_RETURN(w.lora_dropout, ParseShare(name, value));
  } else {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is not an input of a workload.", name));
  }
  return {};
}

}  // namespace

std::string_view Name(Task value) { return Tasks().Of(value); }
std::string_view Name(Engine value) { return Engines().Of(value); }
std::string_view Name(Precision value) { return Precisions().Of(value); }
std::string_view Name(WeightFormat value) { return WeightFormats().Of(value); }
std::string_view Name(CacheFormat value) { return CacheFormats().Of(value); }
std::string_view Name(OptimizerName value) { return Optimizers().Of(value); }
std::string_view Name(Recompute value) { return Recomputes().Of(value); }
std::string_view Name(Loss value) { return Losses().Of(value); }
std::string_view Name(Adapter value) { return Adapters().Of(value); }
std::string_view Name(Offload value) { return Offloads().Of(value); }
std::string_view Name(AttentionMask value) { return Masks().Of(value); }
std::string_view Name(Sharding value) { return Shardings().Of(value); }

Status SetInput(Workload& workload, std::string_view name, std::string_view value) {
  if (int64_t* number = NumberOf(workload, name)) {
    MEMSTRATA_ASSIGN_OR_RETURN(*number, ParseWhole(name, value, MayBeZero(name) ? 0 : 1));
  } else if (bool* flag = FlagOf(workload, name)) {
    MEMSTRATA_ASSIGN_OR_RETURN(*flag, ParseFlag(name, value));
  } else if (name == "parallel") {
    MEMSTRATA_TRY(SetParallel(workload.parallel, value));
  } else if (name == "asset") {
    MEMSTRATA_TRY(SetAsset(workload, value));
  } else if (name == "data") {
    MEMSTRATA_ASSIGN_OR_RETURN(workload.data_bytes, ParseBytes(value));
  } else if (name == "lora-targets") {
    workload.lora_targets.clear();
    if (value != "all-linear") {
      for (const std::string_view part : SplitAt(value, ',')) workload.lora_targets.emplace_back(part);
    }
  } else {
    MEMSTRATA_TRY(SetChoice(workload, name, value));
  }
  workload.given.emplace(name);
  return {};
}

std::vector<std::pair<std::string, std::string>> EffectiveInputs(const Workload& w) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  std::string targets;
  for (const std::string& target : w.lora_targets) targets += (targets.empty() ? "" : ",") + target;
  const Parallel& p = w.parallel;
  return {{"task", std::string(Name(w.task))},
          {"engine", std::string(Name(w.engine))},
          {"batch", number(w.batch)},
          {"sequence", number(w.sequence)},
          {"target-sequence", number(w.target_sequence)},
          {"new-tokens", number(w.new_tokens)},
          {"images", number(w.images)},
          {"image-tokens", number(w.image_tokens)},
          {"concurrency", number(w.concurrency)},
          {"batched-tokens", number(w.batched_tokens)},
          {"accumulation", number(w.accumulation)},
          {"precision", std::string(Name(w.precision))},
          {"weights", std::string(Name(w.weight_format))},
          {"kv-bits", std::string(Name(w.cache_format))},
          {"optimizer", std::string(Name(w.optimizer))},
          {"recompute", std::string(Name(w.recompute))},
          {"loss", std::string(Name(w.loss))},
          {"attention", w.eager_attention ? "eager" : "sdpa"},
          {"mask", std::string(Name(w.mask))},
          {"use-cache", flag(w.use_cache)},
          {"keep-outputs", flag(w.keeps_outputs)},
          {"grads-to-none", flag(w.sets_grads_to_none)},
          {"clip-gradients", flag(w.clips_gradients)},
          {"compile", flag(w.is_compiled)},
          {"deterministic", flag(w.is_deterministic)},
          {"frozen-gathered", flag(w.keeps_frozen_gathered)},
          {"grouped-experts", flag(w.groups_experts)},
          {"gathered-tokens", flag(w.gathers_tokens)},
          {"deferred-head-gradients", number(w.deferred_head_gradients)},
          {"logits-to-keep", number(w.logits_to_keep)},
          {"adapter", std::string(Name(w.adapter))},
          {"lora-rank", number(w.lora_rank)},
          {"lora-targets", targets.empty() ? "all-linear" : targets},
          {"lora-dropout", fmt::format("{}", w.lora_dropout)},
          {"memory-fraction", fmt::format("{}", w.memory_fraction)},
          {"devices", number(w.devices)},
          {"offload", std::string(Name(w.offload))},
          {"draft-tokens", number(w.draft_tokens)},
          {"data", std::to_string(w.data_bytes)},
          {"data-workers", number(w.data_workers)},
          {"parallel", fmt::format("tp={},pp={},cp={},ep={},etp={},dp={},vpp={},sp={},zero={}", p.tensor, p.pipeline,
                                   p.context, p.expert, p.ExpertTensor(), p.data, p.virtual_stages,
                                   flag(p.sequence_parallel), static_cast<int>(p.sharding))}};
}

std::string DegreesText(const Parallel& p) {
  std::string text;
  const auto add = [&](std::string_view name, int64_t degree, int64_t usual) {
    if (degree != usual) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, degree);
  };
  add("tp", p.tensor, 1);
  add("pp", p.pipeline, 1);
  add("cp", p.context, 1);
  add("ep", p.expert, 1);
  add("etp", p.expert_tensor, 0);
  add("dp", p.data, 1);
  add("replicas", p.replicas, 1);
  add("vpp", p.virtual_stages, 1);
  add("group", p.virtual_group, 0);
  add("first", p.first_stage_layers, 0);
  add("last", p.last_stage_layers, 0);
  if (p.sequence_parallel) text += fmt::format("{}sp=yes", text.empty() ? "" : ",");
  add("zero", static_cast<int64_t>(p.sharding), 0);
  return text.empty() ? "one device" : text;
}

bool TakesShare(const Workload& workload) {
  return workload.task == Task::kServe && (workload.engine == Engine::kVllm || workload.engine == Engine::kSglang);
}

uint64_t ParameterBytes(Precision precision) {
  return precision == Precision::kBfloat16 || precision == Precision::kFloat16 ? 2 : 4;
}

uint64_t ComputeBytes(Precision precision) { return precision == Precision::kFloat32 ? 4 : 2; }

double BitsPerWeight(WeightFormat format, Precision precision) {
  switch (format) {
    case WeightFormat::kAsPrecision:
      return 8.0 * static_cast<double>(ParameterBytes(precision));
    case WeightFormat::kInt8:
    case WeightFormat::kFp8:
      return 8.0;
    case WeightFormat::kNf4:
      return 4.5;  // 32 B + one 4 B scale for each 64
    case WeightFormat::kNf4Double:
      return 4.0 + (8.0 + 32.0 / 256.0) / 64.0;
    case WeightFormat::kInt4Group128:
      return 4.0 + (16.0 + 4.0) / 128.0;  // scale and zero point for each 128
    case WeightFormat::kMxfp4:
      return 4.25;  // one 8-bit scale for each 32
    case WeightFormat::kNvfp4:
      return 4.5;  // one 8-bit scale for each 16
    default:
      return NominalMixBits(format);
  }
}

Result<uint64_t> ParseBytes(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (const auto& [name, factor] : kUnits) {
    if (problem != std::errc{} || unit != name) continue;
    const double bytes = value * factor;
    if (bytes >= 0 && bytes < 0x1p60) return static_cast<uint64_t>(std::llround(bytes));
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a size; write 80GiB, 24GB or a number of bytes.", text));
}

}  // namespace memstrata::plan
