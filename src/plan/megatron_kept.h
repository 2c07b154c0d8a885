#pragma once
// What Megatron still holds between two steps besides weights, gradients and optimizer states.

#include "plan/plan.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {

/// Tensors at the borders of pipeline stages that Megatron still holds between steps.
void AddBoundaryTensors(const PlanRequest& request, DevicePlan& device);

/// The buffer that Megatron gathers tokens into, for its head under sequence parallelism and for experts whose ranks
/// share all tokens. It is one for all layers and stays.
void AddGatherBuffer(const PlanRequest& request, int64_t stage, DevicePlan& device);

/// What the allocator's blocks hold beyond the tensors in them, where weights and states are tensors of their own: with
/// a distributed optimizer they are parts of few large buffers. The allocator itself is asked, tensor by tensor.
/// cost: O(parameters log parameters)
void AddBlockRounding(const PlanRequest& request, int64_t stage, const RankParameters& rank, DevicePlan& device);

}  // namespace memstrata::plan
