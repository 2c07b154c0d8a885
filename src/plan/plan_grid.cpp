#include "plan/plan_grid.h"

#include <algorithm>
#include <set>

namespace memstrata::plan {
namespace {

// Powers of two around a value, and the value itself.
GridAxis NumberAxis(std::string input, std::string label, int64_t given, int64_t least, int64_t most) {
  std::set<int64_t> values{given};
  for (int64_t value = least; value <= most; value *= 2) values.insert(value);
  GridAxis axis{std::move(input), std::move(label), {}, 0};
  for (const int64_t value : values) {
    if (value == given) axis.given = axis.values.size();
    axis.values.push_back(std::to_string(value));
  }
  return axis;
}

GridAxis ChoiceAxis(std::string input, std::string label, std::string given, std::vector<std::string> values) {
  const auto found = std::find(values.begin(), values.end(), given);
  const auto at = static_cast<size_t>(found - values.begin());
  if (found == values.end()) values.push_back(std::move(given));
  return {std::move(input), std::move(label), std::move(values), at};
}

std::vector<GridAxis> AxesOf(const PlanRequest& request) {
  constexpr int64_t kMostBatch = 32;
  constexpr int64_t kMostSessions = 64;
  constexpr int64_t kSequenceSteps = 4;  // halvings and doublings of the sequence
  const Workload& w = request.workload;
  const ModelDescription& model = request.model;
  std::vector<GridAxis> axes;
  if (w.task == Task::kServe) {
    axes.push_back(NumberAxis("concurrency", "Sessions at the same time", w.concurrency, 1, kMostSessions));
  } else {
    axes.push_back(NumberAxis("batch", "Samples of a step", w.batch, 1, kMostBatch));
  }
  if (model.vocabulary > 0 && model.layer_count > 0) {
    const int64_t step = std::max<int64_t>(1, w.sequence >> (kSequenceSteps / 2));
    const int64_t most = w.sequence << (kSequenceSteps / 2);
    axes.push_back(
        NumberAxis("sequence", "Tokens of a sample", w.sequence, step,
                   model.max_positions > 0 ? std::min(most, std::max(w.sequence, model.max_positions)) : most));
  }
  if (w.task == Task::kTrain) {
    axes.push_back(
        ChoiceAxis("recompute", "Activations are recomputed", std::string(Name(w.recompute)), {"none", "full"}));
  } else if (!model.cache.empty() && (TakesShare(w) || w.engine == Engine::kLlamaCpp)) {
    axes.push_back(ChoiceAxis("kv-bits", "Bits of a cached element", std::string(Name(w.cache_format)),
                              {"16", w.engine == Engine::kLlamaCpp ? "q8_0" : "8"}));
  }
  return axes;
}

GridCell PlanCell(PlanRequest request, const std::vector<GridAxis>& axes, const std::vector<size_t>& at) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const Status status = SetInput(request.workload, axes[i].input, axes[i].values[at[i]]);
    if (!status) return {std::nullopt, status.error().message};
  }
  Result<Plan> plan = MakePlan(std::move(request));
  if (!plan) return {std::nullopt, plan.error().message};
  return {*std::move(plan), ""};
}

// The next combination; false behind the last.
bool Advance(const std::vector<GridAxis>& axes, std::vector<size_t>& at) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (++at[i] < axes[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace

Result<PlanGrid> MakeGrid(const PlanRequest& request) {
  PlanGrid grid;
  PlanRequest trial = TrialOf(request);
  trial.workload.devices = 0;  // ways to spread it are in the text
  MEMSTRATA_ASSIGN_OR_RETURN(grid.given, MakePlan(request));
  grid.axes = AxesOf(request);
  std::vector<size_t> at(grid.axes.size(), 0);
  do {
    grid.cells.push_back(PlanCell(trial, grid.axes, at));
  } while (Advance(grid.axes, at));
  return grid;
}

}  // namespace memstrata::plan
