#include "plan/near_simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/constants.h"
#include "plan/layer_activations.h"
#include "plan/outside.h"
#include "plan/sharded_states.h"
#include "plan/simulated_step.h"

namespace memstrata::plan {
namespace {

Workload NearestOf(const Workload& workload) {
  Workload nearest = workload;
  nearest.is_compiled = false;
  if (!HasSimulatedOptimizer(workload.optimizer)) nearest.optimizer = OptimizerName::kAdamWFused;
  return nearest;
}

// Of what a compiled layer saves to what an eager one does.
double CompiledShare(const PlanRequest& request) {
  const Workload eager = NearestOf(request.workload);
  double compiled_bytes = 0;
  double eager_bytes = 0;
  for (int64_t layer = 0; layer < request.model.layer_count; ++layer) {
    const LayerActivations after = SavedByLayer(request.model, request.workload, layer);
    const LayerActivations before = SavedByLayer(request.model, eager, layer);
    compiled_bytes += after.replicated_each + after.divided_each;
    eager_bytes += before.replicated_each + before.divided_each;
  }
  return eager_bytes > 0 ? std::min(1.0, compiled_bytes / eager_bytes) : 1.0;
}

void Scale(Line& line, double factor, const std::string& why) {
  const auto times = [factor](uint64_t bytes) { return static_cast<uint64_t>(static_cast<double>(bytes) * factor); };
  line.bytes = times(line.bytes);
  line.low_bytes = times(line.low_bytes);
  line.high_bytes = times(line.high_bytes);
  line.how += why;
}

// The optimizer's own states in the place of AdamW's.
void ReplaceStates(const PlanRequest& request, DevicePlan& device) {
  const RankParameters rank = ParametersOfRank(request.model, request.workload, 0);
  const StateSizes sizes = SizesOfStates(request.model, rank, request.workload);
  for (Line& line : device.lines) {
    if (line.term != "optimizer") continue;
    line.bytes = line.low_bytes = line.high_bytes = sizes.optimizer_bytes;
    line.how =
        fmt::format("{:.6g} B x {} trained parameters ({})", sizes.optimizer_each,
                    request.workload.TrainsAdapters() ? rank.adapters : rank.Total(), Name(request.workload.optimizer));
    line.source = "bytes for each parameter by optimizer, docs/explanation/planning.md";
  }
  device.states.optimizer_state = sizes.optimizer_bytes;
}

void FuseLayers(const PlanRequest& request, DevicePlan& device) {
  const double share = CompiledShare(request);
  const double scores = GetConstant("compiled_loss").best;
  for (Line& line : device.lines) {
    if (line.term == "activations") Scale(line, share, fmt::format(", x {:.3f} when compiled", share));
    const bool is_loss = line.term == "logits" || line.term == "forward_transient" || line.term == "backward_transient";
    if (is_loss) Scale(line, scores, fmt::format(", x {:.3f} when the loss is compiled", scores));
  }
  const auto activations = static_cast<double>(device.states.activations_end_of_forward);
  device.states.activations_end_of_forward = static_cast<uint64_t>(activations * share);
}

uint64_t InsideBytes(const DevicePlan& device) {
  uint64_t bytes = 0;
  for (const Line& line : device.lines) {
    if (!IsOutside(line)) bytes += line.bytes;
  }
  return bytes;
}

}  // namespace

bool IsNearSimulation(const PlanRequest& request) {
  return request.workload.task == Task::kTrain && !CanSimulate(request.model, request.workload) &&
         CanSimulate(request.model, NearestOf(request.workload));
}

DevicePlan NearSimulatedDevice(const PlanRequest& request) {
  PlanRequest nearest = request;
  nearest.workload = NearestOf(request.workload);
  DevicePlan device = SimulateDevice(nearest);
  const double eager_bytes = static_cast<double>(std::max<uint64_t>(1, InsideBytes(device)));
  if (!HasSimulatedOptimizer(request.workload.optimizer)) ReplaceStates(request, device);
  if (request.workload.is_compiled) FuseLayers(request, device);
  device.framework_peak_bytes = InsideBytes(device);
  const double reserved = static_cast<double>(device.framework_reserved_bytes) / eager_bytes;
  device.framework_reserved_bytes = std::max(
      device.framework_peak_bytes, static_cast<uint64_t>(reserved * static_cast<double>(device.framework_peak_bytes)));
  device.peak_spread = "dense_peak";
  const Constant& spread = GetConstant(device.peak_spread);
  const auto peak = static_cast<double>(device.framework_peak_bytes);
  device.framework_peak_low_bytes = static_cast<uint64_t>(peak * spread.low);
  device.framework_peak_high_bytes = static_cast<uint64_t>(peak * spread.high);
  device.phase_peaks.clear();  // they are of the other step
  device.simulation_fits.reset();
  return device;
}

}  // namespace memstrata::plan
