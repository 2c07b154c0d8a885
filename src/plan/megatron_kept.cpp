#include "plan/megatron_kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/constants.h"
#include "plan/layer_sum.h"
#include "plan/outside.h"
#include "sim/caching_allocator.h"

namespace memstrata::plan {

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

void AddBlockRounding(const PlanRequest& request, int64_t stage, const RankParameters& rank, DevicePlan& device) {
  const Workload& w = request.workload;
  const bool has_own_tensors = w.engine == Engine::kMegatron && w.parallel.sharding == Sharding::kNone &&
                               !w.TrainsAdapters() && w.offload == Offload::kNone && UsesCuda(request.card);
  if (!has_own_tensors) return;
  constexpr double kStateBytes = 4;  // float32
  const StateSizes sizes = SizesOfStates(request.model, rank, w);
  const auto states = static_cast<int64_t>(std::lround(sizes.optimizer_each / kStateBytes));
  const std::vector<int64_t> tensors = TensorsOfRank(request.model, w, stage);
  sim::CachingAllocator allocator(std::nullopt);
  uint64_t requested = 0;
  const auto allocate = [&](int64_t count, double each) {
    const auto bytes = static_cast<uint64_t>(static_cast<double>(count) * each);
    requested += bytes;
    allocator.Allocate(bytes);
  };
  for (const int64_t count : tensors) allocate(count, sizes.weight_each);
  // Weights in float32 come with the optimizer, its other states with the first step.
  const int64_t early_states = std::min<int64_t>(1, states);
  for (const int64_t count : tensors) {
    if (early_states > 0) allocate(count, kStateBytes);
  }
  for (const int64_t count : tensors) {
    for (int64_t state = early_states; state < states; ++state) allocate(count, kStateBytes);
  }
  const uint64_t bytes = allocator.allocated_bytes() - requested;
  if (bytes == 0) return;
  device.lines.push_back(
      {"rounding", bytes, 0, 2 * bytes, Basis::kComputed,
       fmt::format("blocks of {} weights and {} states of each, beyond their bytes", tensors.size(), states),
       "PyTorch's caching allocator, run on these tensors", true, "parallel, optimizer"});
}

}  // namespace memstrata::plan
