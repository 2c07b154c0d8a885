#include "plan/sharded_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/constants.h"
#include "plan/engine_profile.h"
#include "plan/kv_cache.h"
#include "plan/layer_sum.h"
#include "plan/megatron_kept.h"
#include "plan/optimizer_peak.h"
#include "plan/outside.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {
namespace {

constexpr const char* kKorthikanti =
    "Korthikanti et al., arXiv 2205.05198, generalised to gated MLPs and grouped heads";

Line Computed(std::string term, double bytes, std::string how, std::string source, bool is_persistent,
              std::string changed_by) {
  const auto value = static_cast<uint64_t>(bytes);
  return {std::move(term),      value, value, value, Basis::kComputed, std::move(how), std::move(source), is_persistent,
          std::move(changed_by)};
}

// Bounds of the line alone, from the file of constants.
Line Spread(Line line, std::string_view constant) {
  const Constant& spread = GetConstant(constant);
  line.low_bytes = static_cast<uint64_t>(static_cast<double>(line.bytes) * spread.low);
  line.high_bytes = static_cast<uint64_t>(static_cast<double>(line.bytes) * spread.high);
  return line;
}

// "2 B x 8030261248 parameters", with what divides them and where they are.
std::string StateFormula(double each, const RankParameters& rank, const StateSizes& sizes, bool is_sharded,
                         bool is_on_host) {
  std::string text = fmt::format("{:.6g} B x {} parameters of a model-parallel rank", each, rank.Total());
  if (is_sharded && rank.experts > 0 && sizes.expert_shards != sizes.dense_shards) {
    text = fmt::format("{:.6g} B x ({} / {} ranks + {} of experts / {} ranks)", each, rank.dense, sizes.dense_shards,
                       rank.experts, sizes.expert_shards);
  } else if (is_sharded && sizes.dense_shards > 1) {
    text += fmt::format(" / {} ranks", sizes.dense_shards);
  }
  return is_on_host ? "in host memory: " + text : text;
}

void AddStates(const PlanRequest& request, const RankParameters& rank, DevicePlan& device) {
  const Workload& w = request.workload;
  const StateSizes sizes = SizesOfStates(request.model, rank, w);
  const char* source = "bytes for each parameter by setup, docs/explanation/planning.md";
  const Sharding sharding = w.parallel.sharding;
  const auto how = [&](double each, Sharding least, bool is_on_host) {
    if (w.TrainsAdapters()) {
      const std::string shared = sizes.dense_shards > 1 ? fmt::format(" / {} ranks", sizes.dense_shards) : "";
      return fmt::format("{} B x {} parameters of adapters{}", each, rank.adapters, shared);
    }
    return StateFormula(each, rank, sizes, sharding >= least, is_on_host);
  };
  const bool has_host = w.offload != Offload::kNone;
  std::string weights_how =
      StateFormula(sizes.weight_each, rank, sizes, !w.TrainsAdapters() && sharding >= Sharding::kZero3,
                   w.offload == Offload::kOptimizerAndWeights);
  if (w.TrainsAdapters()) {
    weights_how += fmt::format(" + 4 B x {} of adapters", rank.adapters);
    if (sizes.dense_shards > 1) weights_how = fmt::format("({}) / {} ranks", weights_how, sizes.dense_shards);
  }
  device.lines.push_back(Computed("weights", static_cast<double>(sizes.weight_bytes), weights_how, source, true,
                                  "precision, weights, parallel"));
  device.states.parameters = sizes.weight_bytes;
  if (w.task != Task::kTrain) return;
  device.lines.push_back(Computed("gradients", static_cast<double>(sizes.gradient_bytes),
                                  how(sizes.gradient_each, Sharding::kZero2, has_host && sharding >= Sharding::kZero2),
                                  source, true, "parallel, lora-rank"));
  device.lines.push_back(Computed("optimizer", static_cast<double>(sizes.optimizer_bytes),
                                  how(sizes.optimizer_each, Sharding::kZero1, has_host), source, true,
                                  "optimizer, parallel"));
  if (sizes.gathered_bytes > 0) {
    device.lines.push_back(
        Spread(Computed("communication", static_cast<double>(sizes.gathered_bytes),
                        fmt::format("a layer of {} parameters and the next one gathered{}", rank.largest_layer,
                                    w.TrainsAdapters() ? "" : ", and one whole gradient"),
                        "FSDP's prefetch of one layer", false, "parallel"),
               "gathered_layers"));
  }
  device.host_bytes = sizes.host_bytes;
  device.states.gradients = sizes.gradient_bytes;
  device.states.optimizer_state = sizes.optimizer_bytes + sizes.host_optimizer_bytes;
}

int64_t PredictionLayers(const PlanRequest& request, int64_t stage) {
  const DecoderSpec* spec = request.model.decoder();
  const bool has = spec != nullptr && stage == request.workload.parallel.pipeline - 1;
  return has && request.workload.task == Task::kTrain ? spec->prediction_layers : 0;
}

// Scores, their float32 form, its softmax and the gradient, as far as the engine keeps them at once; a further pass of
// the head leaves the float32 softmax of its scores for the backward.
double LogitBytesEach(const PlanRequest& request, int64_t stage) {
  if (request.workload.task != Task::kTrain) return 4;
  return ProfileOf(request.workload).logit_bytes_each + 4 * static_cast<double>(PredictionLayers(request, stage));
}

double LogitBytes(const PlanRequest& request, int64_t stage) {
  const Workload& w = request.workload;
  if (stage != w.parallel.pipeline - 1 || request.model.vocabulary == 0) return 0;
  return LogitBytesEach(request, stage) * static_cast<double>(TargetTokens(request)) *
         static_cast<double>(request.model.vocabulary) / static_cast<double>(w.parallel.tensor);
}

void AddLogits(const PlanRequest& request, double bytes, DevicePlan& device) {
  if (bytes == 0) return;
  const Workload& w = request.workload;
  device.lines.push_back(
      Spread(Computed("logits", bytes,
                      fmt::format("{} B x {} tokens x {} words / {}", LogitBytesEach(request, w.parallel.pipeline - 1),
                                  TargetTokens(request), request.model.vocabulary, w.parallel.tensor),
                      "bytes for each score, docs/explanation/planning.md", false, "batch, sequence, parallel"),
             "logits_line"));
}

// With sequence parallelism the head's input is whole on each rank for its backward, and so is the gradient of it.
void AddGatheredHead(const PlanRequest& request, DevicePlan& device) {
  const Workload& w = request.workload;
  if (!KeepsGatheredInputs(w)) return;
  const double input = static_cast<double>(TargetTokens(request) * request.model.hidden) *
                       static_cast<double>(ComputeBytes(w.precision));
  device.lines.push_back(Computed("gathered_head_input", 2 * input,
                                  fmt::format("2 x {} tokens x {} x {} B: whole on each tensor-parallel rank",
                                              TargetTokens(request), request.model.hidden, ComputeBytes(w.precision)),
                                  "all-gather before a divided product, docs/explanation/planning.md", false,
                                  "batch, sequence, parallel"));
}

// Micro-batches whose part of the head's gradient waits keep the head's input and the gradient of the scores.
void AddDeferredHead(const PlanRequest& request, int64_t stage, DevicePlan& device) {
  const Workload& w = request.workload;
  if (stage != w.parallel.pipeline - 1 || w.deferred_head_gradients == 0 || w.task != Task::kTrain) return;
  const int64_t each = request.model.vocabulary / w.parallel.tensor + request.model.hidden;
  const int64_t kept = std::min(w.deferred_head_gradients, w.accumulation);
  device.lines.push_back(Computed(
      "deferred_head",
      static_cast<double>(kept * TargetTokens(request) * each * static_cast<int64_t>(ComputeBytes(w.precision))),
      fmt::format("{} micro-batches x {} tokens x {} elements: the head's input and the gradient of its scores", kept,
                  TargetTokens(request), each),
      "inputs of a product's weight gradient", false, "deferred-head-gradients, batch, sequence, parallel"));
}

std::string_view ActivationSpread(const ModelDescription& model) {
  if (model.decoder() == nullptr) return "other_activations";
  const bool is_compared = model.decoder()->experts.count == 0 && model.decoder()->mixers.empty();
  return is_compared ? "dense_activations" : "expert_activations";
}

// Packed weights are unpacked one layer at a time, and the head's 16-bit form is there twice while it is loaded.
void AddUnpacked(const PlanRequest& request, DevicePlan& device) {
  const Workload& w = request.workload;
  if (w.weight_format == WeightFormat::kAsPrecision) return;
  int64_t largest = 0;
  int64_t head = 0;
  for (const ParameterSpec& parameter : request.model.parameters) {
    if (parameter.role == Role::kColumn || parameter.role == Role::kRow)
      largest = std::max(largest, CountElements(parameter));
    if (parameter.role == Role::kHead || parameter.role == Role::kEmbedding)
      head = std::max(head, CountElements(parameter));
  }
  const auto width = static_cast<double>(ParameterBytes(w.precision));
  device.lines.push_back(
      Spread(Computed("unpacked", width * static_cast<double>(largest + head) / static_cast<double>(w.parallel.tensor),
                      fmt::format("{} B x ({} of the largest layer + {} of the head)", width, largest, head),
                      "Lightning-AI/litgpt resource tables: packed against 16-bit inference of eight models", false,
                      "weights"),
             "unpacked_line"));
}

// Denoisers work on samples of the configured size, or of as many tokens as are given.
void AddDiffusion(const PlanRequest& request, DevicePlan& device) {
  if (!request.model.diffusion) return;
  const DiffusionSpec& spec = *request.model.diffusion;
  const Workload& w = request.workload;
  const int64_t tokens = w.image_tokens > 0 ? w.image_tokens : spec.image_tokens;
  const auto of = [&](const SampleElements& elements) { return elements.Of(tokens, spec.text_tokens); };
  double each = of(spec.largest);
  if (w.task == Task::kTrain) each = RecomputesAll(w) ? of(spec.inputs) + of(spec.largest) : of(spec.saved);
  const auto width = static_cast<double>(ComputeBytes(w.precision));
  const std::string sample =
      spec.image_tokens == 0 ? "" : fmt::format(" ({} tokens of it, {} of text)", tokens, spec.text_tokens);
  device.lines.push_back(Spread(Computed("activations", static_cast<double>(w.batch) * each * width,
                                         fmt::format("{} samples{} x {:.0f} elements of {} blocks x {} B", w.batch,
                                                     sample, each, spec.block_count, width),
                                         "docs/explanation/planning.md", false, "batch, image-tokens, recompute"),
                                "expert_activations"));
  device.states.activations_end_of_forward = device.lines.back().bytes;
  int64_t constants = 0;
  for (const BufferSpec& buffer : spec.buffers) constants += buffer.shape[0] * buffer.shape[1];
  if (constants == 0) return;
  const auto stored = static_cast<double>(ParameterBytes(w.precision));
  device.lines.push_back(Computed("buffers", static_cast<double>(constants) * stored,
                                  fmt::format("{} elements of tables x {} B", constants, stored),
                                  "docs/explanation/planning.md", true, "precision"));
}

// Images pass their tower on the first stage.
void AddVision(const PlanRequest& request, int64_t stage, DevicePlan& device) {
  if (!request.model.vision || stage > 0) return;
  const VisionTower& tower = *request.model.vision;
  const Workload& w = request.workload;
  const int64_t each_image = w.image_tokens > 0 ? w.image_tokens : tower.image_tokens;
  const int64_t tokens = w.batch * w.images * each_image;
  const bool keeps_all = w.task == Task::kTrain && !RecomputesAll(w);
  const int64_t each =
      keeps_all ? tower.SavedEach() * tower.layer_count : tower.SavedEach() + 2 * tower.hidden * tower.layer_count;
  const double width = static_cast<double>(ComputeBytes(w.precision)) / 2;
  device.lines.push_back(
      Spread(Computed("vision", static_cast<double>(tokens * each) * width,
                      fmt::format("{} images x {} tokens x {} B over {} layers", w.batch * w.images, each_image, each,
                                  tower.layer_count),
                      "docs/explanation/planning.md", false, "batch, images, image-tokens, recompute"),
             "expert_activations"));
}

// Frozen layers that stay gathered are there beside this rank's part of them.
void AddLoadCopy(const PlanRequest& request, DevicePlan& device) {
  const Workload& w = request.workload;
  if (w.task != Task::kTrain || !w.TrainsAdapters() || !w.keeps_frozen_gathered ||
      w.parallel.sharding < Sharding::kZero3)
    return;
  const double bytes = static_cast<double>(device.states.parameters) / static_cast<double>(w.parallel.data);
  device.lines.push_back(
      Spread(Computed("load_copy", bytes,
                      fmt::format("its shard of 1 / {} beside the weights that stay whole", w.parallel.data),
                      "Lightning-AI/litgpt resource tables, LoRA with FSDP", false, "parallel, frozen-gathered"),
             "load_copy_line"));
}

void AddActivations(const PlanRequest& request, int64_t stage, DevicePlan& device) {
  const Workload& w = request.workload;
  const LayerSum layers = SumLayers(request, stage);
  const PiecesInFlight in_flight = InFlight(w, stage);
  const int64_t predictions = PredictionLayers(request, stage);
  double bytes = layers.bytes * in_flight.pieces * in_flight.layer_share;
  bytes += static_cast<double>(predictions) * layers.last_bytes;
  std::string how = layers.how;
  if (in_flight.pieces != 1 || in_flight.layer_share != 1)
    how =
        fmt::format("({}) x {} pieces of {:.6g} of the layers in flight", how, in_flight.pieces, in_flight.layer_share);
  if (predictions > 0) how += fmt::format(" + {} x {:.0f} B of prediction layers", predictions, layers.last_bytes);
  device.states.activations_end_of_forward = static_cast<uint64_t>(bytes);
  device.lines.push_back(Spread(
      Computed("activations", bytes, std::move(how), kKorthikanti, false, "batch, sequence, recompute, parallel"),
      ActivationSpread(request.model)));
  // The scores are gone before a layer is run again, so only the larger of the two is on top.
  const double logits = LogitBytes(request, stage);
  if (RecomputesAll(w) && layers.rerun_bytes > logits) {
    device.lines.push_back(Spread(
        Computed("recomputed_layer", layers.rerun_bytes,
                 "the layer that runs again in the backward: " + layers.rerun_how, kKorthikanti, false, "recompute"),
        ActivationSpread(request.model)));
  } else {
    AddLogits(request, logits, device);
    if (logits > 0) AddGatheredHead(request, device);
  }
}

// Outside of full sharding, which casts what it gathers, autocast keeps a 16-bit copy of each weight of a product until
// its backward. Layers that run again make theirs anew, so there the head's alone is left.
void AddAutocast(const PlanRequest& request, int64_t stage, const RankParameters& rank, DevicePlan& device) {
  const Workload& w = request.workload;
  const bool casts = w.precision == Precision::kBfloat16Autocast || w.precision == Precision::kFloat16Autocast;
  if (!casts || w.engine != Engine::kTorch || w.parallel.sharding >= Sharding::kZero3 || request.model.hidden == 0)
    return;
  const int64_t layers = RecomputesAll(w) ? 0 : rank.Total() - rank.beside_matrices;
  const bool has_head = stage == w.parallel.pipeline - 1;
  const int64_t head = has_head ? request.model.vocabulary * request.model.hidden / w.parallel.tensor : 0;
  device.lines.push_back(Computed("autocast", 2 * static_cast<double>(layers + head),
                                  fmt::format("2 B x ({} weights of layers + {} of the head)", layers, head),
                                  "autocast's copies, docs/explanation/planning.md", false, "precision, recompute"));
  device.states.activations_end_of_forward += device.lines.back().bytes;
}

// What else the forward of PyTorch's own loop leaves: the float32 scores, and what full sharding keeps gathered.
void AddEndOfForward(const PlanRequest& request, int64_t stage, const RankParameters& rank, DevicePlan& device) {
  const Workload& w = request.workload;
  if (w.engine != Engine::kTorch) return;
  constexpr double kKept = 1.0 / 3;  // of the bytes of a score at the peak: 4 of 12
  device.states.activations_end_of_forward += static_cast<uint64_t>(kKept * LogitBytes(request, stage));
  if (w.parallel.sharding < Sharding::kZero3) return;
  device.states.activations_end_of_forward += static_cast<uint64_t>(rank.outside_layers) * ComputeBytes(w.precision);
}

// Errors of the terms are not independent of each other, so the peak's bounds are those of whole predictions.
std::string_view SpreadOf(const PlanRequest& request) {
  if (request.workload.task != Task::kTrain) return "inference_peak";
  const DecoderSpec* spec = request.model.decoder();
  if (request.model.diffusion) return "expert_peak";
  if (spec == nullptr) return "encoder_decoder_peak";
  const bool is_compared = spec->experts.count == 0 && spec->mixers.empty() && !request.model.vision;
  return is_compared ? "dense_peak" : "expert_peak";
}

void Sum(const PlanRequest& request, DevicePlan& device) {
  for (const Line& line : device.lines) device.framework_peak_bytes += line.bytes;
  device.peak_spread = SpreadOf(request);
  const Constant& spread = GetConstant(device.peak_spread);
  const Constant& reserved = GetConstant("reserved_per_allocated");
  const auto times = [peak = static_cast<double>(device.framework_peak_bytes)](double factor) {
    return static_cast<uint64_t>(peak * factor);
  };
  device.framework_peak_low_bytes = times(spread.low);
  device.framework_peak_high_bytes = times(spread.high);
  if (request.workload.engine == Engine::kJax) {  // XLA plans a program's memory: there is no caching allocator
    device.framework_reserved_bytes = device.framework_peak_bytes;
    return;
  }
  device.framework_reserved_bytes = times(reserved.best);
  device.lines.push_back({"fragmentation", times(reserved.best - 1), 0, times(reserved.high - 1), Basis::kAssumed,
                          reserved.how, reserved.source, false, "PYTORCH_CUDA_ALLOC_CONF"});
}

}  // namespace

DevicePlan ShardedTrainingDevice(const PlanRequest& request, int64_t stage) {
  DevicePlan device;
  device.stage = stage;
  device.rank = stage * request.workload.parallel.StageDeviceCount();
  const RankParameters rank = ParametersOfRank(request.model, request.workload, stage);
  AddStates(request, rank, device);
  if (request.model.diffusion) {
    AddDiffusion(request, device);
  } else {
    AddActivations(request, stage, device);
    AddAutocast(request, stage, rank, device);
    AddEndOfForward(request, stage, rank, device);
  }
  AddDeferredHead(request, stage, device);
  AddVision(request, stage, device);
  AddUnpacked(request, device);
  AddLoadCopy(request, device);
  AddBuckets(request, device);
  AddBoundaryTensors(request, device);
  AddGatherBuffer(request, stage, device);
  AddBlockRounding(request, stage, rank, device);
  AddWorkspaces(request, device);
  UseOptimizerPeak(request, device);
  Sum(request, device);
  AddOutsideLines(request, device);
  return device;
}

DevicePlan InferenceDevice(const PlanRequest& request) {
  const Workload& w = request.workload;
  DevicePlan device;
  AddStates(request, ParametersOfRank(request.model, w, 0), device);
  const int64_t tokens = w.sequence + w.new_tokens;
  if (w.task == Task::kGenerate && !request.model.cache.empty()) {
    const CacheLayout layout = LayoutOf(w);
    const uint64_t bytes = static_cast<uint64_t>(w.batch) * SequenceCacheBytes(request.model, tokens, layout);
    device.states.kv_cache = bytes;
    device.lines.push_back(Computed(
        "kv_cache", static_cast<double>(bytes),
        fmt::format("{} sequences x {} tokens x {} B", w.batch, tokens, CacheBytesPerToken(request.model, layout)),
        "keys and values of each layer", false, "batch, sequence, new-tokens, kv-bits"));
  }
  AddDiffusion(request, device);
  if (request.model.hidden > 0) {
    const double inner = request.model.decoder() != nullptr ? static_cast<double>(request.model.decoder()->intermediate)
                                                            : 4.0 * static_cast<double>(request.model.hidden);
    const double bytes =
        static_cast<double>(w.batch * w.sequence) * 2 * (4 * static_cast<double>(request.model.hidden) + 2 * inner);
    device.lines.push_back(
        Spread(Computed("activations", bytes,
                        fmt::format("{} tokens x 2 B x (4 hidden + 2 x {})", w.batch * w.sequence, inner),
                        "widest point of one layer without gradients", false, "batch, sequence"),
               "inference_activations"));
    AddLogits(request, LogitBytes(request, w.parallel.pipeline - 1), device);
    AddVision(request, 0, device);
  }
  AddUnpacked(request, device);
  AddWorkspaces(request, device);
  Sum(request, device);
  device.peak_phase = w.task == Task::kGenerate ? "prefill" : "forward";
  AddOutsideLines(request, device);
  return device;
}

}  // namespace memstrata::plan
