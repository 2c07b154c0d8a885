#include "plan/sharded_states.h"

#include <algorithm>

#include "plan/engine_profile.h"

namespace memstrata::plan {
namespace {

bool SplitsByTensor(Role role) {
  return role == Role::kEmbedding || role == Role::kHead || role == Role::kColumn || role == Role::kRow ||
         role == Role::kColumnBias || role == Role::kState;
}

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

bool IsAdapted(const ParameterSpec& parameter, const Workload& workload) {
  const bool is_linear =
      parameter.role == Role::kColumn || parameter.role == Role::kRow || parameter.role == Role::kReplicatedLinear;
  if (!is_linear || parameter.shape.size() != 2) return false;
  if (workload.lora_targets.empty()) return true;
  return std::any_of(workload.lora_targets.begin(), workload.lora_targets.end(),
                     [&](const std::string& target) { return parameter.name.ends_with(target + ".weight"); });
}

// Where a tensor lives: layers by stage, the embedding on the first, the head on the last, both for a tied table.
bool IsOnStage(const ParameterSpec& parameter, const ModelDescription& model, int64_t stage, int64_t stage_count) {
  if (stage_count == 1) return true;
  const auto [first, end] = StageLayers(model.layer_count, stage, stage_count);
  if (parameter.layer >= 0 && parameter.layer < model.layer_count)
    return parameter.layer >= first && parameter.layer < end;
  const bool is_last = stage == stage_count - 1;
  if (parameter.layer < 0) {
    const DecoderSpec* spec = model.decoder();
    const bool is_tied_table = parameter.role == Role::kEmbedding && spec != nullptr && spec->ties_head;
    return stage == 0 || (is_last && is_tied_table);
  }
  return is_last;
}

}  // namespace

std::pair<int64_t, int64_t> StageLayers(int64_t layer_count, int64_t stage, int64_t stage_count) {
  return {layer_count * stage / stage_count, layer_count * (stage + 1) / stage_count};
}

RankParameters ParametersOfRank(const ModelDescription& model, const Workload& workload, int64_t stage) {
  const Parallel& parallel = workload.parallel;
  RankParameters rank;
  if (model.parameters.empty()) {
    rank.dense = DivideUp(model.parameter_count, parallel.tensor * parallel.pipeline);
    return rank;
  }
  std::vector<int64_t> by_layer(static_cast<size_t>(model.layer_count + 1), 0);
  for (const ParameterSpec& parameter : model.parameters) {
    if (!IsOnStage(parameter, model, stage, parallel.pipeline)) continue;
    int64_t count = CountElements(parameter);
    if (parameter.role == Role::kExpert) {
      count = DivideUp(count, parallel.expert * parallel.tensor);
      rank.experts += count;
    } else {
      if (SplitsByTensor(parameter.role)) count = DivideUp(count, parallel.tensor);
      rank.dense += count;
    }
    const bool is_in_layer = parameter.layer >= 0 && parameter.layer < model.layer_count;
    if (is_in_layer) by_layer[static_cast<size_t>(parameter.layer)] += count;
    if (!is_in_layer) rank.outside_layers += count;
    if (workload.lora_rank > 0 && IsAdapted(parameter, workload)) {
      rank.adapters += workload.lora_rank * (parameter.shape[0] + parameter.shape[1]);
    }
  }
  rank.largest_layer = *std::max_element(by_layer.begin(), by_layer.end());
  return rank;
}

double OptimizerBytesEach(OptimizerName name, Precision precision) {
  const auto width = static_cast<double>(ParameterBytes(precision));
  switch (name) {
    case OptimizerName::kNone:
    case OptimizerName::kSgd:
      return 0;
    case OptimizerName::kSgdMomentum:
    case OptimizerName::kSgdMomentumForLoop:
    case OptimizerName::kLion:
    case OptimizerName::kMuon:
      return width;
    case OptimizerName::kAdamW:
    case OptimizerName::kAdamWFused:
    case OptimizerName::kAdamWForLoop:
      return 2 * width;
    case OptimizerName::kAdamW8bit:
      return 2 * (1 + 4.0 / 256);  // one float32 scale for each 256
    case OptimizerName::kAdafactorTransformers:
    case OptimizerName::kAdafactorTorch:
      return 0.01;  // a row and a column of each matrix
  }
  return 0;
}

namespace {

// Bits of one tensor: quantised formats hold the linear layers, the rest stays in the precision.
double BitsOf(const ParameterSpec& parameter, const Workload& workload) {
  const bool is_linear = parameter.role == Role::kColumn || parameter.role == Role::kRow ||
                         parameter.role == Role::kExpert || parameter.role == Role::kReplicatedLinear;
  const WeightFormat format = is_linear ? workload.weight_format : WeightFormat::kAsPrecision;
  return BitsPerWeight(format, workload.precision);
}

double MeanBits(const ModelDescription& model, const Workload& workload) {
  if (model.parameters.empty()) return BitsPerWeight(workload.weight_format, workload.precision);
  double bits = 0;
  double count = 0;
  for (const ParameterSpec& parameter : model.parameters) {
    const auto elements = static_cast<double>(CountElements(parameter));
    bits += elements * BitsOf(parameter, workload);
    count += elements;
  }
  return count > 0 ? bits / count : 0;
}

}  // namespace

StateSizes SizesOfStates(const ModelDescription& model, const RankParameters& rank, const Workload& workload) {
  const Parallel& parallel = workload.parallel;
  const EngineProfile profile = ProfileOf(workload);
  const auto total = static_cast<double>(rank.Total());
  StateSizes sizes;
  sizes.weight_each = MeanBits(model, workload) / 8.0;
  sizes.weight_bytes = static_cast<uint64_t>(sizes.weight_each * total);
  if (workload.task != Task::kTrain) return sizes;
  if (workload.lora_rank > 0) {
    const auto adapters = static_cast<double>(rank.adapters);
    sizes.gradient_bytes = static_cast<uint64_t>(4 * adapters);
    sizes.optimizer_bytes = static_cast<uint64_t>(8 * adapters);
    sizes.weight_bytes += static_cast<uint64_t>(4 * adapters);
    return sizes;
  }
  sizes.gradient_each = profile.gradient_bytes_each > 0 ? profile.gradient_bytes_each
                                                        : static_cast<double>(ParameterBytes(workload.precision));
  sizes.optimizer_each = profile.has_master_weights ? 4.0 + OptimizerBytesEach(workload.optimizer, Precision::kFloat32)
                                                    : OptimizerBytesEach(workload.optimizer, workload.precision);
  // Experts are replicated less often than the rest.
  const double dense_shards =
      static_cast<double>(parallel.data * parallel.context) / static_cast<double>(parallel.replicas);
  const double expert_shards = std::max(1.0, dense_shards / static_cast<double>(parallel.expert));
  const auto held = [&](double each, bool is_sharded) {
    if (!is_sharded) return static_cast<uint64_t>(each * total);
    return static_cast<uint64_t>(
        each * (static_cast<double>(rank.dense) / dense_shards + static_cast<double>(rank.experts) / expert_shards));
  };
  sizes.weight_bytes = held(sizes.weight_each, parallel.sharding >= Sharding::kZero3);
  sizes.gradient_bytes = held(sizes.gradient_each, parallel.sharding >= Sharding::kZero2);
  sizes.optimizer_bytes = held(sizes.optimizer_each, parallel.sharding >= Sharding::kZero1);
  if (parallel.sharding >= Sharding::kZero3) {
    // The embedding and the head stay gathered in the computing format, a layer and the one fetched ahead come and go,
    // and one layer's gradient is whole.
    const auto compute = static_cast<double>(ComputeBytes(workload.precision));
    sizes.gathered_bytes =
        static_cast<uint64_t>(compute * static_cast<double>(3 * rank.largest_layer + rank.outside_layers));
    if (profile.keeps_gathered_in_pipeline && parallel.pipeline > 1) {
      // Nothing is resharded between micro-batches: all weights in the computing format, all gradients in float32.
      sizes.gathered_bytes = static_cast<uint64_t>((compute + 4) * total);
    }
  }
  return sizes;
}

}  // namespace memstrata::plan
