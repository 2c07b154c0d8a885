#include "plan/host.h"

#include <fmt/format.h>

#include "plan/constants.h"
#include "plan/outside.h"
#include "plan/serving.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {

namespace {

uint64_t OffloadedBytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const DevicePlan& device : plan.devices) bytes += device.host_bytes;  // one device of each pipeline stage
  return bytes * static_cast<uint64_t>(plan.workload.parallel.StageDeviceCount());
}

// The checkpoint that is read: as stored, else in the format that is served, else in the precision.
uint64_t CheckpointBytes(const Plan& plan) {
  if (plan.model.stored_weight_bytes) return *plan.model.stored_weight_bytes;
  Workload whole = plan.workload;
  whole.parallel = {};
  if (whole.task == Task::kTrain) whole.weight_format = WeightFormat::kAsPrecision;
  whole.task = Task::kForward;
  return SizesOfStates(plan.model, ParametersOfRank(plan.model, whole, 0), whole).weight_bytes;
}

// Of all ranks together: a checkpoint does not shrink when it is sharded.
uint64_t AllOptimizerBytes(const Plan& plan) {
  Workload whole = plan.workload;
  whole.parallel = {};
  whole.offload = Offload::kNone;
  return SizesOfStates(plan.model, ParametersOfRank(plan.model, whole, 0), whole).optimizer_bytes;
}

}  // namespace

namespace {

std::string ProcessesText(int64_t count) { return count == 1 ? "1 process" : fmt::format("{} processes", count); }

// Returns how many there are. llama.cpp has one for all devices of a replica; the others one for each device.
int64_t AddProcesses(const std::optional<Profile>& profile, Plan& plan) {
  const Workload& w = plan.workload;
  const bool is_llama_cpp = w.engine == Engine::kLlamaCpp;
  const int64_t count = is_llama_cpp ? w.parallel.data : w.parallel.DeviceCount();
  std::string how = ProcessesText(count);
  if (plan.model.parameter_count > 0)
    how += is_llama_cpp ? ", one for each replica" : ", one for each device, with the framework loaded";
  if (profile && profile->host_process_bytes) {
    plan.host_lines.push_back(
        MeasuredLine("processes", *profile->host_process_bytes, static_cast<double>(count), *profile));
    return count;
  }
  const Constant& each = GetConstant(is_llama_cpp ? "host_native_process_bytes" : "host_process_bytes");
  plan.host_lines.push_back(LineOfConstant("processes", each, static_cast<double>(count), std::move(how)));
  return count;
}

Line LoadLine(const Plan& plan, uint64_t weights) {
  if (plan.workload.engine == Engine::kLlamaCpp) {
    return {"checkpoint_load",
            0,
            0,
            weights,
            Basis::kAssumed,
            "llama.cpp maps the file, whose pages the system takes back; one copy of it with --no-mmap",
            "llama.cpp's options",
            false,
            "llama.cpp's --no-mmap"};
  }
  const uint64_t most = weights * static_cast<uint64_t>(plan.workload.parallel.data);
  return {
      "checkpoint_load",
      weights,
      0,
      most,
      Basis::kAssumed,
      "one copy of the checkpoint while loading; none when it is mapped, one a data-parallel rank when each reads it "
      "whole",
      "load-time behaviour of common trainers",
      false,
      "parallel"};
}

}  // namespace

void AddHost(const std::optional<Profile>& profile, Plan& plan) {
  const Workload& w = plan.workload;
  const int64_t processes = AddProcesses(profile, plan);
  const int64_t workers = w.data_workers * w.parallel.DeviceCount();
  plan.cpu_cores = processes + workers;
  if (workers > 0) {
    plan.host_lines.push_back(LineOfConstant(
        "data_workers", GetConstant("data_worker_bytes"), static_cast<double>(workers),
        fmt::format("{} that read and decode data, {} for each device", ProcessesText(workers), w.data_workers)));
  }
  const uint64_t weights = plan.model.parameter_count > 0 ? CheckpointBytes(plan) : 0;
  if (weights > 0) {
    plan.host_lines.push_back(LoadLine(plan, weights));
  }
  const std::optional<Card> card = plan.target ? std::optional(plan.target->card) : std::nullopt;
  const uint64_t table = KeepsTableInHost(w, card) ? TokenTableBytes(plan.model, w) : 0;
  if (table > 0) {
    const uint64_t bytes = table * static_cast<uint64_t>(w.parallel.data);
    plan.host_lines.push_back({"token_table", bytes, bytes, bytes, Basis::kComputed,
                               "the table of tokens, which llama.cpp looks up on the CPU", "ggml-org/llama.cpp#4978",
                               true, "weights"});
  }
  const bool is_cuda = UsesCuda(card);
  const int64_t communicators = is_cuda ? CommunicatorCount(w) : 0;
  if (communicators > 0) {
    plan.host_lines.push_back(LineOfConstant(
        "pinned", GetConstant("host_pinned_bytes_per_communicator"), static_cast<double>(processes * communicators),
        fmt::format("NCCL's pinned buffers: {} communicator(s) of each process", communicators)));
  }
  const uint64_t offloaded = OffloadedBytes(plan);
  if (offloaded > 0) {
    const auto most = static_cast<uint64_t>(static_cast<double>(offloaded) * GetConstant("offloaded_line").high);
    plan.host_lines.push_back({"offloaded", offloaded, offloaded, most, Basis::kComputed,
                               "states that the devices' processes keep in pinned host memory, all processes together",
                               "bytes for each parameter by setup, docs/explanation/planning.md", true, "offload"});
  }
  for (const Line& line : plan.host_lines) plan.host_total_bytes += line.bytes;
}

void AddStorage(Plan& plan) {
  const Workload& w = plan.workload;
  const uint64_t count = static_cast<uint64_t>(plan.model.parameter_count);
  if (count == 0) return;
  const uint64_t weights = CheckpointBytes(plan);
  plan.storage_lines.push_back(
      {"weights", weights, weights, weights, Basis::kComputed,
       fmt::format("{} parameters, {:.4g} B each", count, static_cast<double>(weights) / static_cast<double>(count)),
       "the model's tensors", true, "precision, weights"});
  plan.storage_lines.push_back({"conversion", weights, 0, 2 * weights, Basis::kAssumed,
                                "one more copy while the weights are converted or updated: the new one is whole before "
                                "the old one goes",
                                "the model's tensors", false, "weights"});
  if (w.data_bytes > 0) {
    plan.storage_lines.push_back({"data", w.data_bytes, w.data_bytes, w.data_bytes, Basis::kAssumed,
                                  "the data set as given", "given", true, "data"});
  }
  if (w.task != Task::kTrain || plan.devices.empty()) return;
  const uint64_t checkpoint = weights + AllOptimizerBytes(plan);
  plan.storage_lines.push_back(
      {"checkpoint", checkpoint, weights, checkpoint + 4 * count, Basis::kComputed,
       "one checkpoint with weights and optimizer states of all ranks; keep room for two while one is written",
       "states of this plan", true, "optimizer"});
}

}  // namespace memstrata::plan
