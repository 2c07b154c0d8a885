#include "plan/optimizer_peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/constants.h"
#include "plan/layer_sum.h"
#include "plan/outside.h"

namespace memstrata::plan {
namespace {

// Temporaries of the optimizer's step for each byte of trained weights; nothing where it makes none.
const Constant* OptimizerTemporaries(const Workload& w) {
  if (w.engine != Engine::kTorch || w.offload != Offload::kNone) return nullptr;  // the others' optimizers are fused
  switch (w.optimizer) {
    case OptimizerName::kAdamW:
      return &GetConstant("foreach_optimizer_temporaries");
    case OptimizerName::kAdamWForLoop:
    case OptimizerName::kAdafactorTransformers:
      return &GetConstant("for_loop_optimizer_temporaries");
    case OptimizerName::kAdafactorTorch:
      return &GetConstant("adafactor_temporaries");
    default:
      return nullptr;
  }
}

}  // namespace

void AddBuckets(const PlanRequest& request, DevicePlan& device) {
  const Workload& w = request.workload;
  const bool has_buckets = w.engine == Engine::kTorch && w.parallel.data > 1 && w.parallel.sharding == Sharding::kNone;
  if (!has_buckets) return;
  const uint64_t bytes = device.states.gradients;
  device.lines.push_back({"communication", bytes, bytes, bytes, Basis::kComputed,
                          "a copy of all gradients in the buckets of DistributedDataParallel",
                          "PyTorch's DistributedDataParallel with gradient_as_bucket_view=False", true, "parallel"});
}

void AddBoundaryTensors(const PlanRequest& request, DevicePlan& device) {
  const Workload& w = request.workload;
  const Parallel& p = w.parallel;
  if (w.engine != Engine::kMegatron || p.pipeline == 1) return;
  const int64_t tokens = TokensOnRank(w) / (p.sequence_parallel ? p.tensor : 1);
  const auto each = static_cast<double>(tokens * request.model.hidden) * static_cast<double>(ComputeBytes(w.precision));
  const Constant& tensors = GetConstant("megatron_boundary_tensors");
  Line line = LineOfConstant("communication", tensors, each * static_cast<double>(p.virtual_stages),
                             fmt::format("{} tensors of {} tokens x {} at the border of each of {} virtual stage(s)",
                                         tensors.best, tokens, request.model.hidden, p.virtual_stages));
  line.basis = Basis::kMeasured;
  line.changed_by = "parallel, batch, sequence";
  device.lines.push_back(std::move(line));
}

void AddGatherBuffer(const PlanRequest& request, int64_t stage, DevicePlan& device) {
  const Workload& w = request.workload;
  const Parallel& p = w.parallel;
  if (w.engine != Engine::kMegatron) return;
  const bool has_divided_tokens = p.sequence_parallel && p.tensor > 1;
  const int64_t of_head = has_divided_tokens && stage == p.pipeline - 1 ? TargetTokens(request) : 0;
  const DecoderSpec* spec = request.model.decoder();
  const int64_t group = p.expert * p.ExpertTensor();
  const bool gathers = spec != nullptr && spec->experts.count > 0 && w.gathers_tokens && group > 1;
  const int64_t of_experts = gathers ? TokensOnRank(w) / (has_divided_tokens ? p.tensor : 1) * group : 0;
  const int64_t tokens = std::max(of_head, of_experts);
  if (tokens == 0) return;
  const uint64_t bytes = static_cast<uint64_t>(tokens * request.model.hidden) * ComputeBytes(w.precision);
  device.lines.push_back({"communication", bytes, bytes, bytes, Basis::kComputed,
                          fmt::format("a buffer that stays: {} tokens of {} x {} x {} B gathered from other ranks",
                                      tokens, of_experts > of_head ? "an expert group" : "a head", request.model.hidden,
                                      ComputeBytes(w.precision)),
                          "Megatron-LM's global memory buffer for all-gathers", true,
                          "parallel, batch, sequence, gathered-tokens"});
}

void UseOptimizerPeak(const PlanRequest& request, DevicePlan& device) {
  device.peak_phase = "backward";
  const Constant* each = OptimizerTemporaries(request.workload);
  if (each == nullptr) return;
  const auto trained =
      static_cast<double>(request.workload.TrainsAdapters() ? device.states.gradients : device.states.parameters);
  uint64_t working = 0;
  for (const Line& line : device.lines) working += line.is_persistent ? 0 : line.bytes;
  if (static_cast<uint64_t>(each->best * trained) <= working) return;
  device.peak_phase = "optimizer";
  std::erase_if(device.lines, [](const Line& line) { return !line.is_persistent; });
  Line line = LineOfConstant("optimizer_transient", *each, trained,
                             fmt::format("{} B for each byte of trained weights", each->best));
  line.basis = Basis::kMeasured;
  line.is_persistent = false;
  line.changed_by = "optimizer";
  device.states.optimizer_transient = line.bytes;
  device.lines.push_back(std::move(line));
}

}  // namespace memstrata::plan
