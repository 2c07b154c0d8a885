#include "plan/strategies.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::plan {
namespace {

struct Candidate {
  const char* name;
  std::string parallel;
  const char* cost;
};

std::vector<Candidate> CandidatesFor(Task task, int64_t devices) {
  if (task != Task::kTrain) {
    return {{"tensor parallel", fmt::format("tp={}", devices),
             "two all-reduces in each layer of every token: wants fast links"},
            {"pipeline", fmt::format("pp={}", devices),
             "a token passes the devices one after the other: no faster for one request"},
            {"replicas", fmt::format("dp={}", devices),
             "every device has the whole model and its share of the requests: more of them, none faster"}};
  }
  return {{"fully sharded (FSDP, ZeRO-3)", fmt::format("dp={},zero=3", devices),
           "gathers the weights in each forward and backward; every device has a batch of its own"},
          {"sharded optimizer (ZeRO-1)", fmt::format("dp={},zero=1", devices),
           "whole weights and gradients on each device, gathered once a step; every device has a batch of its own"},
          {"tensor parallel", fmt::format("tp={},sp=yes", devices),
           "collectives in each layer of forward and backward: wants fast links"},
          {"pipeline", fmt::format("pp={}", devices),
           "devices wait while the pipeline fills: planned with as many micro-batches (accumulation) as stages"}};
}

}  // namespace

std::vector<Strategy> FindStrategies(const PlanRequest& request) {
  const int64_t devices = request.workload.devices;
  std::vector<Strategy> strategies;
  if (devices <= request.workload.parallel.DeviceCount()) return strategies;
  for (const Candidate& candidate : CandidatesFor(request.workload.task, devices)) {
    PlanRequest trial = TrialOf(request);
    trial.workload.devices = 0;
    trial.workload.parallel = {};
    if (!SetInput(trial.workload, "parallel", candidate.parallel)) continue;
    trial.workload.accumulation = std::max(trial.workload.accumulation, trial.workload.parallel.pipeline);
    Strategy strategy{candidate.name, candidate.parallel, candidate.cost, {}, {}, ""};
    const Result<Plan> plan = MakePlan(std::move(trial));
    if (plan) {
      strategy.device_bytes = plan->WorstDevice().total_bytes;
      strategy.fits = plan->fits;
    } else {
      strategy.problem = plan.error().message;
    }
    strategies.push_back(std::move(strategy));
  }
  std::stable_sort(strategies.begin(), strategies.end(), [](const Strategy& a, const Strategy& b) {
    return a.device_bytes.value_or(UINT64_MAX) < b.device_bytes.value_or(UINT64_MAX);
  });
  return strategies;
}

}  // namespace memstrata::plan
