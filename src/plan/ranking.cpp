#include "plan/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "plan/simulation_memo.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostDevices = 64;

// The fewest devices of the card that hold the request, where one does not; nothing when none does.
std::optional<Plan> SpreadOver(const PlanRequest& request) {
  const bool trains = request.workload.task == Task::kTrain;
  for (int64_t devices = 2; devices <= kMostDevices; devices *= 2) {
    PlanRequest trial = TrialOf(request);
    if (!SetInput(trial.workload, "parallel",
                  trains ? fmt::format("dp={},zero=3", devices) : fmt::format("tp={}", devices)))
      return std::nullopt;
    trial.workload.given.erase("parallel");  // nobody gave them: they are the plan's
    Result<Plan> plan = MakePlan(std::move(trial));
    if (plan && plan->fits == true) return *std::move(plan);
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Plan>> RankCards(const PlanRequest& request, const std::vector<Card>& cards) {
  std::vector<Plan> plans;
  PlanRequest trial = request;
  trial.searches_largest = cards.size() == 1;
  trial.suggests_changes = request.suggests_changes && cards.size() == 1;
  const bool may_spread =
      cards.size() > 1 && !request.workload.given.contains("parallel") && !request.model.parameters.empty();
  trial.simulations = std::make_shared<SimulationMemo>();
  for (const Card& card : cards) {
    if (request.progress) request.progress(card.name);
    trial.card = card;
    MEMSTRATA_ASSIGN_OR_RETURN(Plan plan, MakePlan(trial));
    const bool lacks_memory = plan.fits == false && plan.target->unsupported.empty() && plan.target->runs_engine;
    if (may_spread && lacks_memory && card.joins) {
      if (std::optional<Plan> spread = SpreadOver(trial)) plan = *std::move(spread);
    }
    plans.push_back(std::move(plan));
  }
  const auto key = [](const Plan& plan) {
    return std::tuple(!plan.fits.value_or(false), plan.fits == false, plan.workload.parallel.DeviceCount(),
                      plan.target->usable_bytes);
  };
  std::stable_sort(plans.begin(), plans.end(), [&](const Plan& a, const Plan& b) { return key(a) < key(b); });
  // Only the first one is shown with what could be changed.
  const bool is_spread =
      !plans.empty() && plans.front().workload.parallel.DeviceCount() != request.workload.parallel.DeviceCount();
  if (plans.size() > 1 && request.suggests_changes && !is_spread) {
    trial.suggests_changes = true;
    trial.card = plans.front().target->card;
    MEMSTRATA_ASSIGN_OR_RETURN(plans.front(), MakePlan(trial));
  }
  return plans;
}

}  // namespace memstrata::plan
