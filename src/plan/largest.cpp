#include "plan/largest.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostTried = int64_t{1} << 22;

bool Fits(const PlanRequest& request, std::string_view input, int64_t value) {
  PlanRequest trial = TrialOf(request);
  if (!SetInput(trial.workload, input, std::to_string(value))) return false;
  if (input == "sequence" && trial.model.max_positions > 0 && value > trial.model.max_positions) return false;
  const Result<Plan> plan = MakePlan(std::move(trial));
  return plan && plan->fits.value_or(false);
}

// Doubling, then halving the interval; `step` keeps divisibility.
std::optional<int64_t> Search(const PlanRequest& request, std::string_view input, int64_t step) {
  if (!Fits(request, input, step)) return std::nullopt;
  int64_t fitting = 1;
  while (fitting * 2 * step <= kMostTried && Fits(request, input, fitting * 2 * step)) fitting *= 2;
  int64_t failing = fitting * 2;
  while (failing - fitting > 1) {
    const int64_t middle = fitting + (failing - fitting) / 2;
    (Fits(request, input, middle * step) ? fitting : failing) = middle;
  }
  return fitting * step;
}

}  // namespace

Largest FindLargest(const PlanRequest& request) {
  Largest largest;
  const bool is_serving = request.workload.task == Task::kServe;
  const bool has_sequence = !request.model.cache.empty();
  if (is_serving) {
    largest.concurrency = Search(request, "concurrency", 1);
  } else {
    largest.batch = Search(request, "batch", 1);
  }
  if (has_sequence) largest.sequence = Search(request, "sequence", 128 * request.workload.parallel.context);
  return largest;
}

}  // namespace memstrata::plan
