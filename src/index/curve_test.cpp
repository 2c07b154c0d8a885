#include "index/curve.h"

#include <gtest/gtest.h>

#include <random>

namespace memstrata {
namespace {

Curve Make(uint64_t begin_bytes, std::initializer_list<uint64_t> after) {
  Curve curve;
  curve.begin_bytes = begin_bytes;
  for (const uint64_t bytes : after) curve.after_bytes.PushBack(bytes);
  return curve;
}

TEST(Curve, TheFirstOfEqualPeaksIsThePeak) {
  const Peak peak = FindPeak(Make(5, {7, 9, 3, 9}));
  EXPECT_EQ(peak.bytes, 9u);
  EXPECT_EQ(peak.moment.seq(), 1u);
}

TEST(Curve, ThePeakMayLieBeforeTheFirstEvent) {
  const Peak peak = FindPeak(Make(9, {7, 9}));
  EXPECT_EQ(peak.bytes, 9u);
  EXPECT_EQ(peak.moment.seq(), kNone);
}

TEST(Curve, NoEvents) {
  EXPECT_EQ(FindPeak(Make(4, {})).bytes, 4u);
  const std::vector<CurveColumn> columns = Reduce(Make(4, {}), 3);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[1].max_bytes, 4u);
}

TEST(Curve, ReductionNeverLosesThePeak) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    Curve curve;
    curve.begin_bytes = random() % 1000;
    const size_t event_count = random() % 500;
    for (size_t i = 0; i < event_count; ++i) curve.after_bytes.PushBack(random() % 1000);
    const Peak peak = FindPeak(curve);
    for (const uint32_t column_count : {1U, 7U, 64U, 900U}) {
      uint64_t highest = 0;
      for (const CurveColumn& column : Reduce(curve, column_count)) {
        EXPECT_LE(column.min_bytes, column.max_bytes);
        highest = std::max(highest, column.max_bytes);
      }
      EXPECT_EQ(highest, peak.bytes) << event_count << " events in " << column_count << " columns";
    }
  }
}

}  // namespace
}  // namespace memstrata
