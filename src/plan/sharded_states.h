#pragma once
// Weights, gradients and optimizer states of one rank: which parameters of the model it holds, and how many bytes of
// each class they take under an engine's rules.

#include <vector>

#include "plan/model/model_description.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// Parameters that one rank of a pipeline stage holds before data-parallel sharding.
struct RankParameters {
  int64_t dense = 0;  // not experts
  int64_t experts = 0;
  int64_t largest_layer = 0;    // of one layer: what full sharding gathers at once
  int64_t outside_layers = 0;   // embedding, head, final norm
  int64_t adapters = 0;         // LoRA
  int64_t beside_matrices = 0;  // of Total(): embedding, head, norms, biases, which Muon leaves to AdamW
  double weight_bits = 0;       // of Total() in the workload's format
  double factors = 0;           // rows and columns of the matrices, and what is none: Adafactor's states
  int64_t Total() const { return dense + experts; }
};

/// First layer of a stage and the one behind its last; stages share what the first and the last leave as evenly as
/// possible.
std::pair<int64_t, int64_t> StageLayers(int64_t layer_count, int64_t stage, const Parallel& parallel);

/// True where the weights are as their file has them: no other format was asked for.
bool UsesStoredWeights(const ModelDescription& model, const Workload& workload);

/// Bytes of the table of tokens where the head is a tensor of its own; 0 where they are one.
uint64_t TokenTableBytes(const ModelDescription& model, const Workload& workload);

RankParameters ParametersOfRank(const ModelDescription& model, const Workload& workload, int64_t stage);

/// Elements of each weight of the same rank, in the model's order; each expert has its own.
std::vector<int64_t> TensorsOfRank(const ModelDescription& model, const Workload& workload, int64_t stage);

struct StateSizes {
  uint64_t weight_bytes = 0;
  uint64_t gradient_bytes = 0;
  uint64_t optimizer_bytes = 0;
  uint64_t host_bytes = 0;  // offloaded, all classes together
  uint64_t host_optimizer_bytes = 0;
  uint64_t gathered_bytes = 0;  // layers that are whole for a moment under full sharding
  double weight_each = 0, gradient_each = 0, optimizer_each = 0;  // bytes a parameter, for the formula
  double dense_shards = 1, expert_shards = 1;                     // ranks that a sharded class is divided among
};

/// Bytes of each class. Sources: the table of bytes a parameter in docs/explanation/planning.md.
StateSizes SizesOfStates(const ModelDescription& model, const RankParameters& rank, const Workload& workload);

/// Bytes of optimizer state for each parameter of a rank, with elements as wide as the precision's parameters.
double OptimizerBytesEach(OptimizerName name, Precision precision, const RankParameters& rank);

}  // namespace memstrata::plan
