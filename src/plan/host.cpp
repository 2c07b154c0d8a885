#include "plan/host.h"

#include <fmt/format.h>

#include "plan/constants.h"
#include "plan/outside.h"

namespace memstrata::plan {

namespace {

uint64_t OffloadedBytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const DevicePlan& device : plan.devices) bytes += device.host_bytes;  // one device of each pipeline stage
  const Parallel& p = plan.workload.parallel;
  return bytes * static_cast<uint64_t>(p.DeviceCount() / p.pipeline);
}

}  // namespace

void AddHost(Plan& plan) {
  const Workload& w = plan.workload;
  const auto processes = static_cast<double>(w.parallel.DeviceCount());
  plan.host_lines.push_back(LineOfConstant(
      "processes", GetConstant("host_process_bytes"), processes,
      fmt::format("{} process(es), one for each device, with the framework loaded", w.parallel.DeviceCount())));
  const uint64_t weights = static_cast<uint64_t>(plan.model.parameter_count) * ParameterBytes(w.precision);
  if (weights > 0) {
    const uint64_t most = weights * static_cast<uint64_t>(w.parallel.data);
    plan.host_lines.push_back({"checkpoint_load", weights, 0, most, Basis::kAssumed,
                               "one copy of the checkpoint while loading; none when it is mapped, one a data-parallel "
                               "rank when each reads it whole",
                               "load-time behaviour of common trainers", false, "parallel"});
  }
  const int64_t communicators = CommunicatorCount(w.parallel);
  if (communicators > 0) {
    plan.host_lines.push_back(LineOfConstant(
        "pinned", GetConstant("host_pinned_bytes_per_communicator"), processes * static_cast<double>(communicators),
        fmt::format("NCCL's pinned buffers: {} communicator(s) of each process", communicators)));
  }
  const uint64_t offloaded = OffloadedBytes(plan);
  if (offloaded > 0) {
    plan.host_lines.push_back({"offloaded", offloaded, offloaded, offloaded + offloaded / 4, Basis::kComputed,
                               "states that the devices' processes keep in pinned host memory, all processes together",
                               "bytes for each parameter by setup, docs/explanation/planning.md", true, "offload"});
  }
  for (const Line& line : plan.host_lines) plan.host_total_bytes += line.bytes;
}

void AddStorage(Plan& plan) {
  const Workload& w = plan.workload;
  const uint64_t count = static_cast<uint64_t>(plan.model.parameter_count);
  if (count == 0) return;
  const uint64_t weights = count * ParameterBytes(w.precision);
  plan.storage_lines.push_back({"weights", weights, weights, weights, Basis::kComputed,
                                fmt::format("{} parameters x {} B", count, ParameterBytes(w.precision)),
                                "the model's tensors", true, "precision"});
  if (w.task != Task::kTrain || plan.devices.empty()) return;
  uint64_t states = 0;
  for (const DevicePlan& device : plan.devices) states += device.states.optimizer_state;
  const uint64_t checkpoint = weights + states;
  plan.storage_lines.push_back(
      {"checkpoint", checkpoint, weights, checkpoint + 4 * count, Basis::kComputed,
       "one checkpoint with weights and optimizer states; keep room for two while one is written",
       "states of this plan", true, "optimizer"});
}

}  // namespace memstrata::plan
