#include "base/units.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(Units, BytesHaveThreeSignificantDigitsAndBinaryUnits) {
  EXPECT_EQ(FormatBytes(uint64_t{0}), "0 B");
  EXPECT_EQ(FormatBytes(uint64_t{1023}), "1023 B");
  EXPECT_EQ(FormatBytes(uint64_t{1024}), "1.00 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{7013335044}), "6.53 GiB");
  EXPECT_EQ(FormatBytes(uint64_t{1} << 30), "1.00 GiB");
  EXPECT_EQ(FormatBytes((uint64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16.0 EiB");
}

TEST(Units, NegativeBytes) {
  EXPECT_EQ(FormatBytes(int64_t{-3} << 20), "-3.00 MiB");
  EXPECT_EQ(FormatBytes(INT64_MIN), "-8.00 EiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1, "block"), "1 block");
  EXPECT_EQ(FormatCount(1745, "block"), "1,745 blocks");
  EXPECT_EQ(FormatCount(0, "block"), "0 blocks");
  EXPECT_EQ(FormatCount(7013335044), "7,013,335,044");
}

TEST(Units, Durations) {
  EXPECT_EQ(FormatDuration(850), "850 ns");
  EXPECT_EQ(FormatDuration(1'250'000), "1.25 ms");
  EXPECT_EQ(FormatDuration(3'400'000'000), "3.40 s");
  EXPECT_EQ(FormatDuration(125'000'000'000), "2 min 5 s");
}

}  // namespace
}  // namespace memstrata
