#include "accept/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <charconv>
#include <cmath>

#include "base/units.h"
#include "plan/workload.h"

namespace memstrata::accept {
namespace {

constexpr double kNormalQuantile99 = 2.326347874;  // of the standard normal distribution at 0.99

double Mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Deviation(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double StudentQuantile(size_t repeat_count) {
  const boost::math::students_t distribution(static_cast<double>(repeat_count - 1));
  return quantile(complement(distribution, kFalseAlarmRate));
}

void Learn(std::span<const double> repeats, size_t run_count, Tolerance& tolerance) {
  if (repeats.size() < 2) {
    tolerance.basis = ToleranceBasis::kAssumed;
    tolerance.allowed = kAssumedFraction * tolerance.mean;
    tolerance.how = fmt::format("assumed {}, since one repeat shows no spread", FormatPercent(kAssumedFraction));
    return;
  }
  const double count = static_cast<double>(repeats.size());
  const double predicted =
      StudentQuantile(repeats.size()) * tolerance.deviation * std::sqrt(1 / count + 1 / static_cast<double>(run_count));
  const double largest = *std::max_element(repeats.begin(), repeats.end()) - tolerance.mean;
  const double least = kLeastLearnedFraction * tolerance.mean;
  tolerance.basis = ToleranceBasis::kLearned;
  tolerance.allowed = std::max({predicted, largest, least});
  tolerance.how = fmt::format("learned from {} repeats with a spread of {}", repeats.size(),
                              FormatPercent(tolerance.mean > 0 ? tolerance.deviation / tolerance.mean : 0));
}

}  // namespace

Result<GivenTolerance> ParseTolerance(std::string_view text) {
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{0}\" has no unit: write a part as {0}%, or a size as {0}MiB.", text));
  }
  if (text.ends_with('%')) {
    std::string_view number = text.substr(0, text.size() - 1);
    while (number.ends_with(' ')) number.remove_suffix(1);
    double percent = -1;
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), percent);
    if (problem == std::errc{} && end == number.data() + number.size() && percent >= 0 && percent <= 1000)
      return GivenTolerance{.fraction = percent / 100, .amount = {}};
  } else if (const Result<uint64_t> size_bytes = plan::ParseBytes(text); size_bytes) {
    return GivenTolerance{.fraction = {}, .amount = static_cast<double>(*size_bytes)};
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a tolerance; write a part, as 5%, or a size, as 64MiB.", text));
}

Tolerance ToleranceOf(std::span<const double> repeats, size_t run_count, const std::optional<GivenTolerance>& given,
                      double least) {
  Tolerance tolerance;
  tolerance.mean = Mean(repeats);
  tolerance.deviation = Deviation(repeats, tolerance.mean);
  if (given) {
    tolerance.basis = ToleranceBasis::kGiven;
    tolerance.allowed = given->amount.value_or(given->fraction.value_or(0) * tolerance.mean);
    tolerance.how = "given";
  } else {
    Learn(repeats, run_count, tolerance);
    tolerance.allowed = std::max(tolerance.allowed, least);
  }
  tolerance.found =
      tolerance.allowed + kNormalQuantile99 * tolerance.deviation / std::sqrt(static_cast<double>(run_count));
  return tolerance;
}

}  // namespace memstrata::accept
