#pragma once
// How much above its baseline a figure may be before it is another program: learned from repeats of the same program.
//
// With n repeats of mean m and standard deviation s, the mean of k more runs of the same program stays below
// m + t * s * sqrt(1/n + 1/k), t the quantile of Student's distribution with n - 1 degrees of freedom: the one-sided
// prediction interval (Hahn and Meeker, Statistical Intervals, section 4.8). It holds for figures that scatter
// normally; the largest repeat is allowed besides, so that figures with two levels raise no alarm once both were seen.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata::accept {

/// The part of comparisons of an unchanged program that raise an alarm, of figures that scatter normally.
inline constexpr double kFalseAlarmRate = 1e-4;
/// Learned tolerances are at least this part of the mean: repeats that are equal do not promise equality for ever.
inline constexpr double kLeastLearnedFraction = 0.001;
/// A single repeat teaches no spread; this is assumed then.
inline constexpr double kAssumedFraction = 0.02;

enum class ToleranceBasis : uint8_t { kLearned, kGiven, kAssumed };
inline constexpr std::string_view kToleranceBasisNames[] = {"learned", "given", "assumed"};

/// A tolerance that the user sets: a part of the baseline's mean, or an amount in the figure's unit.
struct GivenTolerance {
  std::optional<double> fraction;
  std::optional<double> amount;
};
/// "5%" or a size as "64MiB". kInvalidArgument otherwise.
Result<GivenTolerance> ParseTolerance(std::string_view text);

struct Tolerance {
  ToleranceBasis basis = ToleranceBasis::kAssumed;
  double mean = 0;       // of the repeats, in the figure's unit
  double deviation = 0;  // their standard deviation; 0 for one repeat
  double allowed = 0;    // above the mean
  /// An addition of this size is found in 99 of 100 comparisons, if the figure scatters as the repeats do.
  double found = 0;
  std::string how;  // one sentence
};

/// `repeats` must not be empty; `run_count` >= 1 is how many runs are averaged in the comparison. cost: O(repeats)
/// `least`: what a learned one allows at least, in the figure's unit.
Tolerance ToleranceOf(std::span<const double> repeats, size_t run_count, const std::optional<GivenTolerance>& given,
                      double least = 0);

}  // namespace memstrata::accept
