#include "plan/outside.h"

#include <fmt/format.h>

#include "plan/constants.h"

namespace memstrata::plan {
namespace {

constexpr uint64_t kWorkspaceBytes = 8'519'680;  // :4096:2:16:8
constexpr uint64_t kHopperWorkspaceBytes = uint64_t{32} << 20;
constexpr double kHopper = 9.0;

}  // namespace

Line LineOfConstant(std::string term, const Constant& constant, double count, std::string how) {
  return {std::move(term),
          static_cast<uint64_t>(constant.best * count),
          static_cast<uint64_t>(constant.low * count),
          static_cast<uint64_t>(constant.high * count),
          Basis::kAssumed,
          std::move(how),
          constant.source,
          true,
          ""};
}

Line WorkspaceLine(const PlanRequest& request) {
  const bool is_hopper = request.card && request.card->compute_capability >= kHopper;
  if (request.workload.engine == Engine::kMegatron && request.workload.task == Task::kTrain) {
    const Constant& overhead = GetConstant(is_hopper ? "megatron_overhead_hopper_bytes" : "megatron_overhead_bytes");
    return LineOfConstant("workspace", overhead, 1, overhead.how);
  }
  const uint64_t each = is_hopper ? kHopperWorkspaceBytes : kWorkspaceBytes;
  const uint64_t count = request.workload.task == Task::kTrain ? 2 : 1;
  return {"workspace",
          each * count,
          each * count,
          kHopperWorkspaceBytes * count,
          Basis::kComputed,
          fmt::format("{} cuBLAS workspace(s) of {} B", count, each),
          "PyTorch's documentation of CUBLAS_WORKSPACE_CONFIG",
          true,
          ""};
}

int64_t CommunicatorCount(const Parallel& p) {
  int64_t count = 0;
  for (const int64_t degree : {p.tensor, p.pipeline, p.context, p.expert, p.data}) count += degree > 1 ? 1 : 0;
  return count;
}

void AddOutsideLines(const PlanRequest& request, DevicePlan& device) {
  const Constant& context = GetConstant("workload_context_bytes");
  Line line = LineOfConstant("context", context, 1, context.how);
  if (request.card && request.card->context_bytes > 0) {
    line.bytes = request.card->context_bytes;
    line.low_bytes = line.bytes / 2;
    line.high_bytes = line.bytes + line.bytes / 2;
    line.how = "driver, runtime and kernels of one process on this card";
    line.source = request.card->source;
  }
  device.lines.push_back(std::move(line));
  const int64_t communicators = CommunicatorCount(request.workload.parallel);
  if (communicators == 0) return;
  const Constant& each = GetConstant("communicator_bytes");
  device.lines.push_back(
      LineOfConstant("communicators", each, static_cast<double>(communicators),
                     fmt::format("{} NCCL communicator(s) x {} B", communicators, static_cast<uint64_t>(each.best))));
}

}  // namespace memstrata::plan
