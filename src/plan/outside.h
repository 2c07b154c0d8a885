#pragma once
// What a process takes besides its tensors: context, communicators, workspaces.

#include "plan/constants.h"
#include "plan/plan.h"

namespace memstrata::plan {

/// The line of a constant taken `count` times: assumed, with the constant's range and source.
Line LineOfConstant(std::string term, const Constant& constant, double count, std::string how);
/// The same of a constant that a profile fitted anew.
Line MeasuredLine(std::string term, const Constant& constant, double count, const Profile& profile);
/// cuBLAS workspaces, inside the framework's allocator.
Line WorkspaceLine(const PlanRequest& request);
/// Of one workspace of the library of products: 128 MiB on AMD's MI300 and later, 32 MiB from Hopper on and where
/// products are deterministic, else 8.1 MiB.
uint64_t WorkspaceBytes(const std::optional<Card>& card, bool is_deterministic);
/// True on cards whose libraries are CUDA's or ROCm's, and on unknown ones.
bool UsesCuda(const std::optional<Card>& card);
/// Those, and the workspaces of Megatron's grouped products of experts, where there are such.
void AddWorkspaces(const PlanRequest& request, DevicePlan& device);
/// Context and communicators, outside it.
void AddOutsideLines(const PlanRequest& request, DevicePlan& device);
/// True for lines outside of what the framework's allocator reports as allocated.
bool IsOutside(const Line& line);
/// Communicators that a rank of this job makes.
int64_t CommunicatorCount(const Workload& workload);

}  // namespace memstrata::plan
