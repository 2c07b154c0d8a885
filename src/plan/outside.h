#pragma once
// What a process takes besides its tensors: context, communicators, workspaces.

#include "plan/plan.h"

namespace memstrata::plan {

/// cuBLAS workspaces, inside the framework's allocator.
Line WorkspaceLine(const PlanRequest& request);
/// Context and communicators, outside it.
void AddOutsideLines(const PlanRequest& request, DevicePlan& device);
/// Communicators that a rank of this job makes.
int64_t CommunicatorCount(const Parallel& parallel);

}  // namespace memstrata::plan
