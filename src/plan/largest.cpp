#include "plan/largest.h"

#include <algorithm>

#include "plan/judge.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostTried = int64_t{1} << 22;

struct Trial {
  bool fits = false;
  double total_bytes = 0;
};

// Tries multiples of `step` of one input.
class Search {
 public:
  Search(const PlanRequest& request, std::string_view input, int64_t step)
      : request_(request), input_(input), step_(step), most_(std::max<int64_t>(1, kMostTried / step)) {}

  /// A few values around where a straight line through the first two meets the card, then halving.
  std::optional<int64_t> Find() const {
    const Trial one = Try(1);
    if (!one.fits) return std::nullopt;
    const Trial two = Try(2);
    if (most_ < 2 || !two.fits) return step_;
    int64_t fitting = Halve(Bracket(Guess(one, two)));
    while (const std::optional<int64_t> higher = FittingAbove(fitting)) fitting = Halve(Rise(*higher));
    return fitting * step_;
  }

 private:
  Trial Try(int64_t count) const {
    PlanRequest trial = TrialOf(request_);
    const int64_t value = count * step_;
    if (!SetInput(trial.workload, input_, std::to_string(value))) return {};
    if (input_ == "sequence" && trial.model.max_positions > 0 && value > trial.model.max_positions) return {};
    const Result<Plan> plan = MakePlan(std::move(trial));
    if (!plan) return {};
    return {plan->fits.value_or(false), static_cast<double>(plan->WorstDevice().total_bytes)};
  }

  int64_t Guess(const Trial& one, const Trial& two) const {
    const double slope = two.total_bytes - one.total_bytes;
    if (slope <= 0) return most_;
    const double left = static_cast<double>(UsableBytes(request_)) - one.total_bytes;
    return static_cast<int64_t>(std::clamp(1 + left / slope, 3.0, static_cast<double>(std::max<int64_t>(3, most_))));
  }

  using Ends = std::pair<int64_t, int64_t>;  // a value that fits, and a larger one that does not

  int64_t Halve(Ends ends) const {
    auto [fitting, failing] = ends;
    while (failing - fitting > 1) {
      const int64_t middle = fitting + (failing - fitting) / 2;
      (Try(middle).fits ? fitting : failing) = middle;
    }
    return fitting;
  }

  // Strides that double from a value that fits.
  Ends Rise(int64_t fitting) const {
    int64_t stride = std::max<int64_t>(1, fitting / 64);
    for (; fitting < most_; stride *= 2) {
      const int64_t at = std::min(fitting + stride, most_);
      if (!Try(at).fits) return {fitting, at};
      fitting = at;
    }
    return {fitting, fitting + 1};
  }

  Ends Bracket(int64_t guess) const {
    constexpr int64_t kFitting = 2;
    int64_t at = std::min(guess, most_);
    if (Try(at).fits) return Rise(at);
    for (int64_t stride = std::max<int64_t>(1, guess / 64); at - stride > kFitting; stride *= 2) {
      if (Try(at - stride).fits) return {at - stride, at};
      at -= stride;
    }
    return {kFitting, at};
  }

  // What fits is not quite a threshold: blocks fall together better for some sizes than for smaller ones.
  std::optional<int64_t> FittingAbove(int64_t fitting) const {
    for (const int64_t share : {200, 100, 50, 25}) {
      const int64_t at = fitting + fitting / share;
      if (at > fitting + 1 && at <= most_ && Try(at).fits) return at;
    }
    return std::nullopt;
  }

  const PlanRequest& request_;
  std::string_view input_;
  int64_t step_;
  int64_t most_;
};

}  // namespace

Largest FindLargest(const PlanRequest& request) {
  Largest largest;
  const bool is_serving = request.workload.task == Task::kServe;
  const bool has_sequence = !request.model.cache.empty();
  if (is_serving) {
    largest.concurrency = Search(request, "concurrency", 1).Find();
  } else {
    largest.batch = Search(request, "batch", 1).Find();
  }
  if (has_sequence) largest.sequence = Search(request, "sequence", 128 * request.workload.parallel.context).Find();
  return largest;
}

}  // namespace memstrata::plan
