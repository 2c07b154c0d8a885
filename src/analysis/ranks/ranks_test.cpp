#include "analysis/ranks/ranks.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(RankOf, ReadsTheNumberOfAFileName) {
  EXPECT_EQ(RankOf("/a/b12/rank3.pickle"), 3U);
  EXPECT_EQ(RankOf("rank_04_memory_snapshot.pickle"), 4U);
  EXPECT_EQ(RankOf("step100_r7.pickle.gz"), 7U);
  EXPECT_EQ(RankOf("snapshot-12.pickle"), std::nullopt);
}

TEST(NumberRanks, TakesTheNumberThatAloneDiffers) {
  std::vector<RankFigures> ranks(2);
  ranks[0].file = "job3/snapshot-0.pickle";
  ranks[1].file = "job3/snapshot-1.pickle";
  NumberRanks(ranks);
  EXPECT_EQ(ranks[1].rank, 1U);
  std::vector<RankFigures> others(2);
  others[0].file = "before_2.pickle";
  others[1].file = "after_3.pickle";
  NumberRanks(others);
  EXPECT_EQ(others[1].rank, std::nullopt);
}

TEST(CoordinatesOf, ReadsNamedAxes) {
  EXPECT_EQ(CoordinatesOf("rank5_dp1_tp-0_pp2.pickle"), (Coordinates{{"dp", 1}, {"pp", 2}, {"tp", 0}}));
  EXPECT_TRUE(CoordinatesOf("rank5_http3.pickle").empty());
}

TEST(CoordinatesIn, TheLastAxisCountsFirst) {
  const std::vector<LayoutAxis> layout = {{"pp", 2}, {"tp", 4}};
  EXPECT_EQ(CoordinatesIn(layout, 6), (Coordinates{{"pp", 1}, {"tp", 2}}));
}

std::vector<RankFigures> Ranks(const std::vector<uint64_t>& peaks) {
  std::vector<RankFigures> ranks;
  for (const uint64_t peak : peaks) {
    RankFigures rank;
    rank.rank = ranks.size();
    rank.peak_live_bytes = peak;
    ranks.push_back(rank);
  }
  return ranks;
}

TEST(CompareRanks, FindsTheCoordinateThatExplainsMost) {
  std::vector<RankFigures> ranks = Ranks({100, 101, 99, 100, 60, 61, 60, 59});
  for (RankFigures& rank : ranks) rank.coordinates = CoordinatesIn({{"pp", 2}, {"tp", 4}}, *rank.rank);
  const RankComparison comparison = CompareRanks(ranks, 0);
  EXPECT_EQ(comparison.worst, 1U);
  EXPECT_EQ(comparison.spread_bytes, 42U);
  ASSERT_TRUE(comparison.explanation);
  EXPECT_EQ(comparison.explanation->coordinate, "pp");
  EXPECT_FALSE(comparison.explanation->is_assumed);
  EXPECT_GT(comparison.explanation->share, 0.99);
  EXPECT_EQ(comparison.explanation->mean_peak_bytes, (std::map<uint64_t, uint64_t>{{0, 100}, {1, 60}}));
}

TEST(CompareRanks, TriesPatternsOfTheNumberWithoutALayout) {
  const RankComparison comparison = CompareRanks(Ranks({80, 50, 80, 50, 80, 50, 80, 50}), 0);
  ASSERT_TRUE(comparison.explanation);
  EXPECT_EQ(comparison.explanation->coordinate, "rank % 2");
  EXPECT_TRUE(comparison.explanation->is_assumed);
}

TEST(CompareRanks, ExplainsNothingWhereNothingDiffersOrNothingFits) {
  EXPECT_FALSE(CompareRanks(Ranks({100, 100, 101, 100}), 0).explanation);
  EXPECT_FALSE(CompareRanks(Ranks({10, 20, 40, 80, 160, 320}), 0).explanation);
}

TEST(CompareRanks, NamesMissingRanks) {
  std::vector<RankFigures> ranks = Ranks({1, 1, 1});
  ranks[2].rank = 5;
  EXPECT_EQ(CompareRanks(ranks, 0).missing_ranks, (std::vector<uint64_t>{2, 3, 4}));
  const RankComparison of_eight = CompareRanks(ranks, 8);
  EXPECT_EQ(of_eight.missing_count, 5U);
  EXPECT_EQ(of_eight.missing_ranks.back(), 7U);
}

}  // namespace
}  // namespace memstrata
