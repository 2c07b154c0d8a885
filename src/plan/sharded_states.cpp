#include "plan/sharded_states.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/engine_profile.h"
#include "plan/model/adapter_targets.h"
#include "plan/model/gguf_mix.h"

namespace memstrata::plan {
namespace {

bool SplitsByTensor(Role role) {
  return role == Role::kEmbedding || role == Role::kHead || role == Role::kColumn || role == Role::kRow ||
         role == Role::kColumnBias || role == Role::kState;
}

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Elements that Adafactor keeps of a tensor: a row and a column of each matrix, and all of what is none.
double FactorsOf(const ParameterSpec& parameter, const Parallel& parallel) {
  if (parameter.shape.size() < 2) return static_cast<double>(CountElements(parameter));
  const auto rows = static_cast<double>(parameter.shape[parameter.shape.size() - 2]);
  const auto columns = static_cast<double>(parameter.shape.back());
  const double matrices = static_cast<double>(CountElements(parameter)) / std::max(1.0, rows * columns);
  if (parameter.role == Role::kExpert) return matrices * (rows + columns) / static_cast<double>(parallel.expert);
  const auto tensor = static_cast<double>(parallel.tensor);
  if (!SplitsByTensor(parameter.role)) return matrices * (rows + columns);
  return matrices * (parameter.role == Role::kRow ? rows + columns / tensor : rows / tensor + columns);
}

// Trained parameters beside one frozen tensor.
int64_t AdapterCount(const ParameterSpec& parameter, const ModelDescription& model, const Workload& workload,
                     const std::vector<std::string>& targets) {
  switch (workload.adapter) {
    case Adapter::kLowRank:
      if (workload.lora_rank == 0 || !IsAdapterTarget(parameter, targets)) return 0;
      return workload.lora_rank * (parameter.shape[0] + parameter.shape[1]);
    case Adapter::kScaleAndBias:
      if (parameter.role == Role::kNorm) return CountElements(parameter);
      return IsLinearMatrix(parameter) || parameter.role == Role::kHead ? 2 * parameter.shape[0] : 0;
    case Adapter::kPrompt:
      return parameter.layer >= kFirstAdapterPromptLayer && parameter.name.ends_with("o_proj.weight")
                 ? kAdapterPromptTokens * model.hidden + 1
                 : 0;
  }
  return 0;
}

// Elements of a tensor that model-parallel ranks leave one of them.
int64_t CountOnRank(const ParameterSpec& parameter, const Parallel& parallel) {
  const int64_t count = CountElements(parameter);
  if (parameter.role == Role::kExpert) return DivideUp(count, parallel.expert * parallel.ExpertTensor());
  return SplitsByTensor(parameter.role) ? DivideUp(count, parallel.tensor) : count;
}

// Where a tensor lives: layers by stage, the embedding on the first, the head on the last, both for a tied table.
bool IsOnStage(const ParameterSpec& parameter, const ModelDescription& model, int64_t stage, const Parallel& parallel) {
  if (parallel.pipeline == 1) return true;
  const auto [first, end] = StageLayers(model.layer_count, stage, parallel);
  if (parameter.layer >= 0 && parameter.layer < model.layer_count)
    return parameter.layer >= first && parameter.layer < end;
  const bool is_last = stage == parallel.pipeline - 1;
  if (parameter.layer < 0) {
    const DecoderSpec* spec = model.decoder();
    const bool is_used_twice =
        parameter.role == Role::kEmbedding && spec != nullptr && (spec->ties_head || spec->prediction_layers > 0);
    return stage == 0 || (is_last && is_used_twice);
  }
  return is_last;
}

// Bits of one tensor. Quantised formats hold matrices of linear layers and of experts, the rest stays in the precision;
// a GGUF file has a type for each.
double BitsOf(const ParameterSpec& parameter, const Workload& workload, const GgufMixModel& mix_model) {
  const bool is_gguf = IsGgufMix(workload.weight_format) ||
                       (workload.engine == Engine::kLlamaCpp && workload.weight_format == WeightFormat::kAsPrecision);
  if (is_gguf) return GgufBits(parameter, workload.weight_format, workload.precision, mix_model);
  const bool is_packed = (IsLinearMatrix(parameter) || IsExpertMatrix(parameter)) && !parameter.keeps_precision;
  return BitsPerWeight(is_packed ? workload.weight_format : WeightFormat::kAsPrecision, workload.precision);
}

}  // namespace

std::pair<int64_t, int64_t> StageLayers(int64_t layer_count, int64_t stage, const Parallel& parallel) {
  const int64_t first = parallel.first_stage_layers;
  const int64_t last = parallel.last_stage_layers;
  int64_t stages = parallel.pipeline;
  if (stages == 1) return {0, layer_count};
  if (first > 0 && stage == 0) return {0, first};
  if (last > 0 && stage == stages - 1) return {layer_count - last, layer_count};
  if (first > 0) --stage, --stages;
  if (last > 0) --stages;
  const int64_t between = layer_count - first - last;
  return {first + between * stage / stages, first + between * (stage + 1) / stages};
}

bool UsesStoredWeights(const ModelDescription& model, const Workload& workload) {
  return model.stored_weight_bytes.has_value() && !workload.given.contains("weights");
}

uint64_t TokenTableBytes(const ModelDescription& model, const Workload& workload) {
  if (UsesStoredWeights(model, workload)) return model.stored_table_bytes;
  const GgufMixModel mix_model = MixModelOf(model.decoder());
  const bool has_head = std::any_of(model.parameters.begin(), model.parameters.end(),
                                    [](const ParameterSpec& parameter) { return parameter.role == Role::kHead; });
  double bits = 0;
  for (const ParameterSpec& parameter : model.parameters) {
    if (has_head && parameter.role == Role::kEmbedding)
      bits += static_cast<double>(CountElements(parameter)) * BitsOf(parameter, workload, mix_model);
  }
  return static_cast<uint64_t>(bits / 8.0);
}

RankParameters ParametersOfRank(const ModelDescription& model, const Workload& workload, int64_t stage) {
  const Parallel& parallel = workload.parallel;
  RankParameters rank;
  if (model.parameters.empty()) {
    rank.dense = DivideUp(model.parameter_count, parallel.tensor * parallel.pipeline);
    rank.weight_bits = static_cast<double>(rank.dense) * BitsPerWeight(workload.weight_format, workload.precision);
    return rank;
  }
  const std::vector<std::string> targets = AdapterTargets(model.model_type, workload.lora_targets);
  const GgufMixModel mix_model = MixModelOf(model.decoder());
  std::vector<int64_t> by_layer(static_cast<size_t>(model.layer_count + 1), 0);
  for (const ParameterSpec& parameter : model.parameters) {
    if (!IsOnStage(parameter, model, stage, parallel)) continue;
    const int64_t count = CountOnRank(parameter, parallel);
    rank.factors += FactorsOf(parameter, parallel);
    (parameter.role == Role::kExpert ? rank.experts : rank.dense) += count;
    rank.weight_bits += static_cast<double>(count) * BitsOf(parameter, workload, mix_model);
    if (!IsLinearMatrix(parameter) && parameter.role != Role::kExpert) rank.beside_matrices += count;
    const bool is_in_layer = parameter.layer >= 0 && parameter.layer < model.layer_count;
    if (is_in_layer) by_layer[static_cast<size_t>(parameter.layer)] += count;
    if (!is_in_layer) rank.outside_layers += count;
    rank.adapters += AdapterCount(parameter, model, workload, targets);
  }
  rank.largest_layer = *std::max_element(by_layer.begin(), by_layer.end());
  return rank;
}

std::vector<int64_t> TensorsOfRank(const ModelDescription& model, const Workload& workload, int64_t stage) {
  std::vector<int64_t> tensors;
  for (const ParameterSpec& parameter : model.parameters) {
    if (!IsOnStage(parameter, model, stage, workload.parallel)) continue;
    const int64_t count = CountOnRank(parameter, workload.parallel);
    const bool is_of_experts = parameter.role == Role::kExpert && parameter.shape.size() > 2;
    const int64_t experts =
        is_of_experts ? std::max<int64_t>(1, parameter.shape.front() / workload.parallel.expert) : 1;
    tensors.insert(tensors.end(), static_cast<size_t>(experts), count / experts);
  }
  return tensors;
}

double OptimizerBytesEach(OptimizerName name, Precision precision, const RankParameters& rank) {
  const auto width = static_cast<double>(ParameterBytes(precision));
  const double total = std::max(1.0, static_cast<double>(rank.Total()));
  switch (name) {
    case OptimizerName::kNone:
    case OptimizerName::kSgd:
      return 0;
    case OptimizerName::kSgdMomentum:
    case OptimizerName::kSgdMomentumForLoop:
    case OptimizerName::kLion:
      return width;
    case OptimizerName::kMuon:  // one momentum for matrices, AdamW for the rest
      return width * (1 + static_cast<double>(rank.beside_matrices) / total);
    case OptimizerName::kAdamW:
    case OptimizerName::kAdamWFused:
    case OptimizerName::kAdamWForLoop:
      return 2 * width;
    case OptimizerName::kAdamW8bit:
      return 2 * (1 + 4.0 / 256);  // one float32 scale for each 256
    case OptimizerName::kAdafactorTransformers:
    case OptimizerName::kAdafactorTorch:
      return 4 * rank.factors / total;  // float32, whatever the weights are
  }
  return 0;
}

namespace {

// The optimizer steps where its states are, so gradients go there as they are made once they are sharded.
void MoveToHost(const Workload& workload, StateSizes& sizes) {
  if (workload.offload == Offload::kNone) return;
  sizes.host_bytes = sizes.host_optimizer_bytes = std::exchange(sizes.optimizer_bytes, 0);
  if (workload.parallel.sharding >= Sharding::kZero2) sizes.host_bytes += std::exchange(sizes.gradient_bytes, 0);
  if (workload.offload == Offload::kOptimizerAndWeights) sizes.host_bytes += std::exchange(sizes.weight_bytes, 0);
}

// The embedding and the head stay gathered in the computing format, a layer and the one fetched ahead come and go, and
// one layer's gradient is whole, or, of frozen layers, none.
uint64_t GatheredBytes(const RankParameters& rank, const Workload& workload) {
  const auto compute = static_cast<double>(ComputeBytes(workload.precision));
  const int64_t layers = workload.TrainsAdapters() ? 2 : 3;
  return static_cast<uint64_t>(compute * static_cast<double>(layers * rank.largest_layer + rank.outside_layers));
}

// Beside frozen weights, which `sizes` has; both are divided where the weights are.
void SizeAdapters(const RankParameters& rank, const Workload& workload, StateSizes& sizes) {
  const Parallel& parallel = workload.parallel;
  const auto adapters = static_cast<double>(rank.adapters);
  sizes.gradient_each = 4;
  sizes.optimizer_each = 8;
  const bool is_sharded = parallel.sharding >= Sharding::kZero3 && !workload.keeps_frozen_gathered;
  if (is_sharded) {
    sizes.dense_shards = sizes.expert_shards =
        static_cast<double>(parallel.data * parallel.context) / static_cast<double>(parallel.replicas);
    sizes.gathered_bytes = GatheredBytes(rank, workload);
  }
  const auto held = [&](double bytes) { return static_cast<uint64_t>(bytes / sizes.dense_shards); };
  sizes.gradient_bytes = held(sizes.gradient_each * adapters);
  sizes.optimizer_bytes = held(sizes.optimizer_each * adapters);
  sizes.weight_bytes = held(static_cast<double>(sizes.weight_bytes) + 4 * adapters);
}

}  // namespace

StateSizes SizesOfStates(const ModelDescription& model, const RankParameters& rank, const Workload& workload) {
  const Parallel& parallel = workload.parallel;
  const EngineProfile profile = ProfileOf(workload);
  const auto total = static_cast<double>(rank.Total());
  StateSizes sizes;
  sizes.weight_each = total > 0 ? rank.weight_bits / 8.0 / total : 0;
  const bool is_as_stored =
      UsesStoredWeights(model, workload) && (workload.task != Task::kTrain || workload.TrainsAdapters());
  if (is_as_stored && model.parameter_count > 0)
    sizes.weight_each = static_cast<double>(*model.stored_weight_bytes) / static_cast<double>(model.parameter_count);
  sizes.weight_bytes = static_cast<uint64_t>(std::llround(sizes.weight_each * total));
  if (workload.task != Task::kTrain) return sizes;
  if (workload.TrainsAdapters()) {
    SizeAdapters(rank, workload, sizes);
    return sizes;
  }
  sizes.gradient_each = profile.gradient_bytes_each > 0 ? profile.gradient_bytes_each
                                                        : static_cast<double>(ParameterBytes(workload.precision));
  sizes.optimizer_each = profile.has_master_weights
                             ? 4.0 + OptimizerBytesEach(workload.optimizer, Precision::kFloat32, rank)
                             : OptimizerBytesEach(workload.optimizer, workload.precision, rank);
  // Experts are replicated less often than the rest.
  const double dense_shards =
      static_cast<double>(parallel.data * parallel.context) / static_cast<double>(parallel.replicas);
  const double expert_shards = std::max(1.0, dense_shards * static_cast<double>(parallel.tensor) /
                                                 static_cast<double>(parallel.expert * parallel.ExpertTensor()));
  sizes.dense_shards = dense_shards;
  sizes.expert_shards = expert_shards;
  const auto held = [&](double each, bool is_sharded) {
    if (!is_sharded) return static_cast<uint64_t>(each * total);
    return static_cast<uint64_t>(
        each * (static_cast<double>(rank.dense) / dense_shards + static_cast<double>(rank.experts) / expert_shards));
  };
  sizes.weight_bytes = held(sizes.weight_each, parallel.sharding >= Sharding::kZero3);
  sizes.gradient_bytes = held(sizes.gradient_each, parallel.sharding >= Sharding::kZero2);
  sizes.optimizer_bytes = held(sizes.optimizer_each, parallel.sharding >= Sharding::kZero1);
  MoveToHost(workload, sizes);
  if (parallel.sharding >= Sharding::kZero3) {
    sizes.gathered_bytes = GatheredBytes(rank, workload);
    if (profile.keeps_gathered_in_pipeline && parallel.pipeline > 1) {
      // Nothing is resharded between micro-batches: all weights in the computing format, all gradients in float32.
      sizes.gathered_bytes = static_cast<uint64_t>((static_cast<double>(ComputeBytes(workload.precision)) + 4) * total);
    }
  }
  return sizes;
}

}  // namespace memstrata::plan
