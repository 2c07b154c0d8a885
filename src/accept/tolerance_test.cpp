#include "accept/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

namespace memstrata::accept {
namespace {

constexpr double kBaseline = 5e9;
constexpr size_t kRepeats = 20;
constexpr size_t kLaterRuns = 20;
constexpr size_t kPrograms = 1000;

// Draws one peak of a program; `level` is its own, the same in all runs of it.
using Scatter = std::function<double(std::mt19937_64&)>;

double Equal(std::mt19937_64&) { return kBaseline; }
double Normal(std::mt19937_64& random) { return kBaseline * std::normal_distribution(1.0, 0.003)(random); }
double Uniform(std::mt19937_64& random) { return kBaseline * std::uniform_real_distribution(0.99, 1.01)(random); }
// A pool grows by one more segment in about every third run.
double TwoLevels(std::mt19937_64& random) { return kBaseline * (random() % 3 == 0 ? 1.01 : 1.0); }

struct Outcome {
  size_t false_alarms = 0;
  size_t missed = 0;
  size_t comparisons = 0;
};

// Many programs, each with repeats for the baseline and later runs: unchanged, and with `addition` of the mean more.
Outcome Simulate(const Scatter& scatter, double addition) {
  std::mt19937_64 random(20240607);
  Outcome outcome;
  for (size_t program = 0; program < kPrograms; ++program) {
    std::vector<double> repeats(kRepeats);
    for (double& value : repeats) value = scatter(random);
    const Tolerance tolerance = ToleranceOf(repeats, 1, {});
    const double limit = tolerance.mean + tolerance.allowed;
    for (size_t run = 0; run < kLaterRuns; ++run) {
      ++outcome.comparisons;
      outcome.false_alarms += scatter(random) > limit ? 1 : 0;
      outcome.missed += scatter(random) + addition * tolerance.mean > limit ? 0 : 1;
    }
  }
  return outcome;
}

TEST(Tolerance, UnchangedProgramsRaiseNoAlarmAndFivePercentMoreIsFound) {
  for (const Scatter& scatter : {Scatter(Equal), Scatter(Uniform), Scatter(TwoLevels)}) {
    const Outcome outcome = Simulate(scatter, 0.05);
    EXPECT_EQ(outcome.false_alarms, 0u);
    EXPECT_EQ(outcome.missed, 0u);
  }
}

TEST(Tolerance, NormalScatterRaisesAlarmsAtTheStatedRate) {
  const Outcome outcome = Simulate(Normal, 0.05);
  // 20,000 comparisons at 1e-4: two are expected; more than 8 have a chance below 3e-4.
  EXPECT_LE(outcome.false_alarms, 8u);
  EXPECT_EQ(outcome.missed, 0u);
}

TEST(Tolerance, WhatItSaysIsFoundIsFoundInAtLeastThatPartOfComparisons) {
  std::mt19937_64 random(7);
  size_t found = 0;
  for (size_t program = 0; program < kPrograms; ++program) {
    std::vector<double> repeats(kRepeats);
    for (double& value : repeats) value = Normal(random);
    const Tolerance tolerance = ToleranceOf(repeats, 1, {});
    found += Normal(random) + tolerance.found > tolerance.mean + tolerance.allowed ? 1 : 0;
  }
  EXPECT_GT(found, kPrograms * 97 / 100);
}

// Student's quantiles of one and two degrees of freedom have closed forms.
TEST(Tolerance, LearnedOneFollowsStudentsDistribution) {
  const double p = 1 - kFalseAlarmRate;
  const std::vector<double> two = {99, 101};
  const double one_degree = std::tan(std::numbers::pi * (p - 0.5));
  EXPECT_NEAR(ToleranceOf(two, 1, {}).allowed, one_degree * std::sqrt(2.0) * std::sqrt(1.5), 1e-6 * one_degree);
  const std::vector<double> three = {99, 100, 101};
  const double a = 2 * p - 1;
  const double two_degrees = a * std::sqrt(2 / (1 - a * a));
  EXPECT_NEAR(ToleranceOf(three, 4, {}).allowed, two_degrees * std::sqrt(1.0 / 3 + 1.0 / 4), 1e-6 * two_degrees);
}

TEST(Tolerance, EqualRepeatsStillAllowALittle) {
  const std::vector<double> equal(5, 1000.0);
  const Tolerance tolerance = ToleranceOf(equal, 1, {});
  EXPECT_EQ(tolerance.basis, ToleranceBasis::kLearned);
  EXPECT_DOUBLE_EQ(tolerance.allowed, 1.0);
}

TEST(Tolerance, OneRepeatIsAnAssumption) {
  const std::vector<double> one = {1000.0};
  const Tolerance tolerance = ToleranceOf(one, 1, {});
  EXPECT_EQ(tolerance.basis, ToleranceBasis::kAssumed);
  EXPECT_DOUBLE_EQ(tolerance.allowed, 20.0);
}

TEST(Tolerance, GivenOnesAreTaken) {
  const std::vector<double> repeats = {1000.0, 1200.0};
  EXPECT_DOUBLE_EQ(ToleranceOf(repeats, 1, GivenTolerance{.fraction = 0.05, .amount = {}}).allowed, 55.0);
  EXPECT_DOUBLE_EQ(ToleranceOf(repeats, 1, GivenTolerance{.fraction = {}, .amount = 64}).allowed, 64.0);
}

TEST(Tolerance, WhatIsLearnedAllowsTheLeastThatIsAskedFor) {
  const std::vector<double> repeats = {1000.0, 1000.0, 1000.0};
  EXPECT_DOUBLE_EQ(ToleranceOf(repeats, 1, {}).allowed, 1.0);
  EXPECT_DOUBLE_EQ(ToleranceOf(repeats, 1, {}, 20).allowed, 20.0);
  EXPECT_DOUBLE_EQ(ToleranceOf(repeats, 1, GivenTolerance{.fraction = {}, .amount = 5}, 20).allowed, 5.0);
}

TEST(Tolerance, ReadsPartsAndSizes) {
  EXPECT_DOUBLE_EQ(*ParseTolerance("5%")->fraction, 0.05);
  EXPECT_DOUBLE_EQ(*ParseTolerance("2.5 %")->fraction, 0.025);
  EXPECT_DOUBLE_EQ(*ParseTolerance("64MiB")->amount, 0x1p26);
  for (const char* bad : {"", "%", "5", "2.5", "-5%", "5%%", "five", "5 %x", "1e9%", "nan%"})
    EXPECT_FALSE(ParseTolerance(bad)) << bad;
}

}  // namespace
}  // namespace memstrata::accept
