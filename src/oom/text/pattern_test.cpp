#include "oom/text/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace memstrata::oom {
namespace {

uint64_t BytesOf(std::string_view text) {
  const auto match = FindPattern(text, "<size>");
  return match ? match->values[0].bytes : 0;
}

TEST(FindPattern, ReadsSizesOfEveryUnitAsBinary) {
  EXPECT_EQ(BytesOf("20.00 MiB"), 20ULL << 20);
  EXPECT_EQ(BytesOf("41.74G"), 44817983734ULL);
  EXPECT_EQ(BytesOf("1.50GiB"), 1610612736ULL);
  EXPECT_EQ(BytesOf("512 bytes"), 512U);
  EXPECT_EQ(BytesOf("1,024 MB"), 1ULL << 30);
  EXPECT_EQ(BytesOf("871MiB"), 871ULL << 20);
}

TEST(FindPattern, SaysHowExactlyASizeIsKnown) {
  const auto match = FindPattern("910.35 MiB", "<size>");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->values[0].tolerance_bytes, 5243U);  // half a hundredth of a MiB
  EXPECT_EQ(FindPattern("123 bytes", "<size>")->values[0].tolerance_bytes, 0U);
}

TEST(FindPattern, ANumberWithoutUnitIsNoSize) {
  EXPECT_FALSE(FindPattern("12 apples", "<size>"));
  EXPECT_FALSE(FindPattern("12 Mice", "<size>"));
}

TEST(FindPattern, TakesValuesBetweenWords) {
  const auto match =
      FindPattern("rank 3: Process 7 has 1.00 GiB in use, share 0.9", "Process <int> has <size> in use<skip><decimal>");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->values[0].bytes, 7U);
  EXPECT_EQ(match->values[1].bytes, 1ULL << 30);
  EXPECT_DOUBLE_EQ(match->values[2].number, 0.9);
}

TEST(FindPattern, APatternMayBeginWithAValue) {
  const auto match = FindPattern("used 3.00 GiB of 4.00 GiB total capacity;", "<size> total capacity");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->values[0].bytes, 4ULL << 30);
}

TEST(FindPattern, TheTailOfANumberIsNoNumber) {
  EXPECT_FALSE(FindPattern("12.50.1 free;", "<size> free;"));
  EXPECT_EQ(FindPattern("1234 MiB free;", "<size> free;")->begin, 0U);
}

TEST(FindPattern, ImpossibleNumbersSaturate) {
  const auto match = FindPattern("17179869184.00 GiB", "<size>");
  ASSERT_TRUE(match);
  EXPECT_TRUE(match->values[0].IsImpossible());
  EXPECT_FALSE(FindPattern("123456789012345678901234567890 GiB", "<size>"));
}

TEST(FindPattern, NegativeSizesAreMarked) {
  const auto match = FindPattern("memory: -1.20 GiB", "memory: <size>");
  ASSERT_TRUE(match);
  EXPECT_TRUE(match->values[0].is_negative);
  EXPECT_EQ(match->values[0].bytes, 1288490189U);
}

TEST(FindPattern, SkipsNoFurtherThanItsLimit) {
  EXPECT_TRUE(FindPattern("a" + std::string(kMostSkipped, '.') + "b", "a<skip>b"));
  EXPECT_FALSE(FindPattern("a" + std::string(kMostSkipped + 1, '.') + "b", "a<skip>b"));
}

}  // namespace
}  // namespace memstrata::oom
