#pragma once
// Budgets of one rank by closed forms, for what is not simulated: several devices, Megatron, torchtitan, DeepSpeed,
// experts, quantised weights. See docs/explanation/planning.md for every formula.

#include "plan/plan.h"

namespace memstrata::plan {

DevicePlan ShardedTrainingDevice(const PlanRequest& request, int64_t stage);
/// A no-grad forward or generation outside the simulated families.
DevicePlan InferenceDevice(const PlanRequest& request);

}  // namespace memstrata::plan
