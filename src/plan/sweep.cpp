#include "plan/sweep.h"

#include <fmt/format.h>

#include <charconv>

namespace memstrata::plan {
namespace {

constexpr size_t kMostPoints = 64;

Result<std::vector<std::string>> Values(std::string_view text) {
  std::vector<std::string> values;
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    while (true) {
      const size_t comma = text.find(',');
      values.emplace_back(text.substr(0, comma));
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
  } else {
    int64_t first = 0;
    int64_t last = 0;
    const std::string_view low = text.substr(0, dots);
    const std::string_view high = text.substr(dots + 2);
    const bool is_range = std::from_chars(low.data(), low.data() + low.size(), first).ec == std::errc{} &&
                          std::from_chars(high.data(), high.data() + high.size(), last).ec == std::errc{};
    if (!is_range || first < 1 || last < first || last > (int64_t{1} << 40)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("A range is written FIRST..LAST with whole numbers above 0; \"{}\" is not.", text));
    }
    for (int64_t value = first; value < last; value *= 2) values.push_back(std::to_string(value));
    values.push_back(std::to_string(last));
  }
  if (values.size() > kMostPoints) return Fail(ErrorCode::kInvalidArgument, "A sweep takes at most 64 values.");
  return values;
}

}  // namespace

Result<Sweep> RunSweep(const PlanRequest& request, std::string_view specification) {
  const size_t equals = specification.find('=');
  if (equals == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("A sweep is written NAME=VALUES, as batch=1..64; \"{}\" is not.", specification));
  }
  Sweep sweep;
  sweep.input = std::string(specification.substr(0, equals));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> values, Values(specification.substr(equals + 1)));
  for (const std::string& value : values) {
    PlanRequest trial = request;
    trial.searches_largest = trial.suggests_changes = false;
    MEMSTRATA_TRY(SetInput(trial.workload, sweep.input, value));
    MEMSTRATA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(trial));
    const DevicePlan& worst = plan.WorstDevice();
    const bool fitted_before = !sweep.points.empty() && sweep.points.back().fits.value_or(false);
    if (fitted_before && plan.fits == false && !sweep.break_point) sweep.break_point = sweep.points.size();
    sweep.points.push_back({value, worst.total_bytes, worst.framework_peak_bytes, worst.peak_phase, plan.fits});
  }
  return sweep;
}

}  // namespace memstrata::plan
