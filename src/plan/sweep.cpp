#include "plan/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace memstrata::plan {
namespace {

constexpr size_t kMostPoints = 64;

bool IsWhole(std::string_view text, int64_t& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size();
}

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
    const bool is_range = IsWhole(low, first) && IsWhole(high, last);
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

bool IsRising(const std::vector<std::string>& values) {
  int64_t last = -1;
  return std::all_of(values.begin(), values.end(), [&last](const std::string& text) {
    int64_t value = 0;
    const bool rises = IsWhole(text, value) && value > last;
    last = value;
    return rises;
  });
}

Result<SweepPoint> PlanPoint(const PlanRequest& request, std::string_view input, const std::string& value) {
  PlanRequest trial = TrialOf(request);
  MEMSTRATA_TRY(SetInput(trial.workload, input, value));
  MEMSTRATA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(std::move(trial)));
  const DevicePlan& worst = plan.WorstDevice();
  return SweepPoint{value, worst.total_bytes, worst.framework_peak_bytes, worst.peak_phase, plan.fits};
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
    MEMSTRATA_ASSIGN_OR_RETURN(SweepPoint point, PlanPoint(request, sweep.input, value));
    sweep.points.push_back(std::move(point));
  }
  if (!IsRising(values)) return sweep;  // of names, or in another order: there is no point from which on it breaks
  const auto breaks = [](const SweepPoint& a, const SweepPoint& b) { return a.fits == true && b.fits == false; };
  auto at = std::adjacent_find(sweep.points.begin(), sweep.points.end(), breaks);
  const bool is_range = specification.find("..") != std::string_view::npos;
  while (is_range && at != sweep.points.end()) {  // halve until the two that the answer changes between are neighbours
    const int64_t low = std::atoll(at->value.c_str());
    const int64_t high = std::atoll((at + 1)->value.c_str());
    if (high - low <= 1) break;
    MEMSTRATA_ASSIGN_OR_RETURN(SweepPoint middle,
                               PlanPoint(request, sweep.input, std::to_string(low + (high - low) / 2)));
    at = sweep.points.insert(at + 1, std::move(middle));
    if (at->fits == false) --at;
  }
  if (at != sweep.points.end()) sweep.break_point = static_cast<size_t>(at - sweep.points.begin()) + 1;
  return sweep;
}

}  // namespace memstrata::plan
