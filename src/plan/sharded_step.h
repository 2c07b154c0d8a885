#pragma once
// Budgets of one rank by closed forms, for what is not simulated: several devices, Megatron, torchtitan, DeepSpeed,
// experts, quantised weights. See docs/explanation/planning.md for every formula.

#include "plan/plan.h"

namespace memstrata::plan {

DevicePlan ShardedTrainingDevice(const PlanRequest& request, int64_t stage);
/// A no-grad forward or generation outside the simulated families.
DevicePlan InferenceDevice(const PlanRequest& request);

/// Bytes that one decoder layer saves for the backward, for `tokens` tokens on one rank.
struct LayerActivations {
  double replicated_each = 0;  // bytes a token that tensor parallelism does not divide
  double divided_each = 0;     // bytes a token that it does, before the division
  std::string how;
};
LayerActivations SavedByLayer(const ModelDescription& model, const Workload& workload, int64_t layer);

}  // namespace memstrata::plan
