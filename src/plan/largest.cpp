#include "plan/largest.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/judge.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostTried = int64_t{1} << 22;

struct Trial {
  bool fits = false;
  double total_bytes = 0;
  bool is_simulated = false;
};

// Tries multiples of `step` of one input.
class Search {
 public:
  Search(const PlanRequest& request, std::string_view input, int64_t step)
      : request_(request), input_(input), step_(step), most_(std::max<int64_t>(1, kMostTried / step)) {}

  /// A few values around where a straight line through the first two meets the card, then between them.
  std::optional<int64_t> Find() const {
    const Trial one = Try(1);
    if (!one.fits) return std::nullopt;
    const Trial two = Try(2);
    if (most_ < 2 || !two.fits) return step_;
    int64_t fitting = Narrow(Bracket(Guess(one, two), {2, two.total_bytes}));
    if (!one.is_simulated) return fitting * step_;
    while (const std::optional<End> higher = FittingAbove(fitting)) fitting = Narrow(Rise(*higher));
    return fitting * step_;
  }

 private:
  Trial Try(int64_t count) const {
    PlanRequest trial = TrialOf(request_);
    const int64_t value = count * step_;
    if (request_.progress) request_.progress(fmt::format("{} {}", input_, value));
    if (!SetInput(trial.workload, input_, std::to_string(value))) return {};
    if (input_ == "sequence" && trial.model.max_positions > 0 && value > trial.model.max_positions) return {};
    const Result<Plan> plan = MakePlan(std::move(trial));
    if (!plan) return {};
    const DevicePlan& worst = plan->WorstDevice();
    return {plan->fits.value_or(false), static_cast<double>(worst.total_bytes), worst.simulation_fits.has_value()};
  }

  int64_t Guess(const Trial& one, const Trial& two) const {
    const double slope = two.total_bytes - one.total_bytes;
    if (slope <= 0) return most_;
    const double left = static_cast<double>(UsableBytes(request_)) - one.total_bytes;
    return static_cast<int64_t>(std::clamp(1 + left / slope, 3.0, static_cast<double>(std::max<int64_t>(3, most_))));
  }

  struct End {
    int64_t count = 0;
    double total_bytes = 0;
  };
  using Ends = std::pair<End, End>;  // a value that fits, and a larger one that does not

  // Where a straight line between both meets the card, and a little to the other side of that; then halving.
  int64_t Narrow(Ends ends) const {
    auto& [fitting, failing] = ends;
    const auto take = [&](int64_t at) {
      const Trial trial = Try(at);
      (trial.fits ? fitting : failing) = {at, trial.total_bytes};
      return trial.fits;
    };
    constexpr int64_t kFewLeft = 4;
    while (failing.count - fitting.count > kFewLeft) {
      const int64_t gap = failing.count - fitting.count;
      const double slope = (failing.total_bytes - fitting.total_bytes) / static_cast<double>(gap);
      const double left = static_cast<double>(UsableBytes(request_)) - fitting.total_bytes;
      const double meets = slope > 0 ? left / slope : static_cast<double>(gap) / 2;
      const int64_t at = fitting.count + static_cast<int64_t>(std::clamp(meets, 1.0, static_cast<double>(gap - 1)));
      const int64_t stride = std::max<int64_t>(1, gap / 16);
      const int64_t beside = take(at) ? at + stride : at - stride;
      if (beside > fitting.count && beside < failing.count) take(beside);
    }
    while (failing.count - fitting.count > 1) take(fitting.count + (failing.count - fitting.count) / 2);
    return fitting.count;
  }

  // Strides that double from a value that fits.
  Ends Rise(End fitting) const {
    int64_t stride = std::max<int64_t>(1, fitting.count / 64);
    for (; fitting.count < most_; stride *= 2) {
      const int64_t at = std::min(fitting.count + stride, most_);
      const Trial trial = Try(at);
      if (!trial.fits) return {fitting, {at, trial.total_bytes}};
      fitting = {at, trial.total_bytes};
    }
    return {fitting, {fitting.count + 1, fitting.total_bytes}};
  }

  // Around a guess; `known` fits.
  Ends Bracket(int64_t guess, const End& known) const {
    End failing{std::min(guess, most_), 0};
    const Trial first = Try(failing.count);
    failing.total_bytes = first.total_bytes;
    if (first.fits) return Rise(failing);
    for (int64_t stride = std::max<int64_t>(1, guess / 64); failing.count - stride > known.count; stride *= 2) {
      const Trial trial = Try(failing.count - stride);
      const End at{failing.count - stride, trial.total_bytes};
      if (trial.fits) return {at, failing};
      failing = at;
    }
    return {known, failing};
  }

  // What fits is not quite a threshold where the allocator is simulated: blocks fall together better for some sizes
  // than for smaller ones.
  std::optional<End> FittingAbove(int64_t fitting) const {
    for (const int64_t share : {200, 100, 50, 25}) {
      const int64_t at = fitting + fitting / share;
      if (at <= fitting + 1 || at > most_) continue;
      const Trial trial = Try(at);
      if (trial.fits) return End{at, trial.total_bytes};
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
