#include "analysis/growth/rises.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kNoise = kMiB / 16;

std::vector<int64_t> InMiB(std::vector<int64_t> changes) {
  for (int64_t& change : changes) change *= kMiB;
  return changes;
}

bool IsLeak(const std::vector<int64_t>& changes_mib) {
  const std::vector<int64_t> changes = InMiB(changes_mib);
  const std::optional<Rises> rises = FindRises(changes, kNoise);
  return rises && FindLeak(changes, *rises).has_value();
}

TEST(Rises, AFallOrNoRiseAtAllIsNone) {
  EXPECT_FALSE(FindRises(InMiB({2, 2, -1, 2}), kNoise).has_value());
  EXPECT_FALSE(FindRises(std::vector<int64_t>{10, -10, 0}, kNoise).has_value());
  EXPECT_TRUE(FindRises(InMiB({0, 0, 1}), kNoise).has_value());
}

TEST(Rises, StepsThatRiseUntilTheEndAreALeak) {
  EXPECT_TRUE(IsLeak({2, 2}));
  EXPECT_TRUE(IsLeak({2, 2, 2, 2, 2, 2}));
  EXPECT_TRUE(IsLeak({0, 0, 2, 0, 0, 2, 0, 0, 2, 0}));
  EXPECT_TRUE(IsLeak({0, 0, 0, 0, 0, 0, 2, 2, 2}));
}

TEST(Rises, WhatFillsUpIsNoLeak) {
  EXPECT_FALSE(IsLeak({2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(IsLeak({2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1}));  // the same with a late afterthought
  EXPECT_FALSE(IsLeak({2, 2, 2, 0, 0}));                    // too short to tell
  EXPECT_FALSE(IsLeak({0, 0, 0, 0, 0, 0, 0, 2, 2}));        // twice is no rule where many steps added nothing
}

TEST(Rises, ALeakIsSeenBehindALargeJump) {
  const std::vector<int64_t> changes = InMiB({400, 0, 0, 0, 2, 2, 2, 2, 2, 2});
  const std::optional<Rises> leak = FindLeak(changes, *FindRises(changes, kNoise));
  ASSERT_TRUE(leak.has_value());
  EXPECT_EQ(leak->at.front(), 4U);
  EXPECT_TRUE(IsLeak({400, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0}));
}

TEST(Rises, WhatFollowsTheLastFallCountsWhereItIsLong) {
  EXPECT_EQ(SinceLastFall(InMiB({4, 4, -64, 4, 4, 4, 4, 4, 4}), kNoise), InMiB({0, 0, 0, 4, 4, 4, 4, 4, 4}));
  EXPECT_FALSE(SinceLastFall(InMiB({4, 4, 4, -12, 4, 4, 4, -12, 4, 4, 4}), kNoise).has_value());
  EXPECT_FALSE(SinceLastFall(InMiB({4, 4, 4}), kNoise).has_value());
}

TEST(Rises, ValleysThatRiseEvenlyAreALeak) {
  const std::optional<Slope> slope = SlopeOfValleys(InMiB({4, 4, -60, 68, 4, 4, -60, 68, 4, 4, -60, 68}), kNoise);
  ASSERT_TRUE(slope.has_value());
  EXPECT_EQ(slope->bytes_per_step, 4 * kMiB);
  EXPECT_FALSE(SlopeOfValleys(InMiB({4, 4, -8, 4, 4, -8, 4, 4, -8}), kNoise).has_value());    // back to one level
  EXPECT_FALSE(SlopeOfValleys(InMiB({4, 4, -2, 4, 4, -7, 4, 40, -20}), kNoise).has_value());  // unevenly
}

TEST(Rises, AfterthoughtsAreLeftOut) {
  const std::vector<int64_t> changes = InMiB({8, 8, 8, 8, 0, 0, 0, 0, 0, 1, 0});
  const Rises early = WithoutAfterthoughts(changes, *FindRises(changes, kNoise));
  EXPECT_EQ(early.total_bytes, 32 * kMiB);
  EXPECT_TRUE(early.HasEnded());
  const std::vector<int64_t> lasting = InMiB({8, 8, 8, 0, 8, 8});
  EXPECT_EQ(WithoutAfterthoughts(lasting, *FindRises(lasting, kNoise)).at.size(), 5U);
}

Slope SlopeOf(const std::vector<int64_t>& changes) { return FindSlope(changes, *FindRises(changes, kNoise)); }

TEST(Rises, TheSlopeOfLikeStepsIsTheirMedian) {
  const Slope slope = SlopeOf(InMiB({50, 10, 10, 10, 10}));
  EXPECT_TRUE(slope.is_alike);
  EXPECT_EQ(slope.bytes_per_step, 10 * kMiB);
}

TEST(Rises, TheSlopeOfUnlikeStepsIsTheirMean) {
  const Slope irregular = SlopeOf(InMiB({10, 30, 5, 70, 20, 45}));
  EXPECT_FALSE(irregular.is_alike);
  EXPECT_EQ(irregular.period, 0U);
  EXPECT_EQ(irregular.bytes_per_step, 30 * kMiB);
  // Two whole periods of three, and a part of the one before them.
  const Slope periodic = SlopeOf(InMiB({90, 10, 20, 90, 10, 20, 90}));
  EXPECT_EQ(periodic.period, 3U);
  EXPECT_EQ(periodic.bytes_per_step, 40 * kMiB);
}

TEST(Rises, TheSlopeOfEveryThirdStepIsItsMean) {
  EXPECT_EQ(SlopeOf(InMiB({0, 9, 0, 0, 9, 0, 0, 9, 0, 0})).bytes_per_step, 3 * kMiB);
}

}  // namespace
}  // namespace memstrata
