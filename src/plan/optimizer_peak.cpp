#include "plan/optimizer_peak.h"

#include <fmt/format.h>

#include <vector>

#include "plan/constants.h"
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
