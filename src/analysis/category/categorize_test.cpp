#include "analysis/category/categorize.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/bands/bands.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

TEST(Categorize, EveryBlockOfATrainingHasItsPurpose) {
  const Store store = MakeTraining(2);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  std::map<Category, int> counts;
  for (const Category category : analysis.categories) ++counts[category];
  EXPECT_EQ(counts[Category::kParameter], 4);
  EXPECT_EQ(counts[Category::kOptimizerState], 8);
  EXPECT_EQ(counts[Category::kGradient], 2 * 4);
  EXPECT_EQ(counts[Category::kActivation], 2 * 5);
  EXPECT_EQ(counts[Category::kInput], 2);
  EXPECT_EQ(counts[Category::kTemporary], 2 * (2 + 4));
  EXPECT_EQ(counts[Category::kUnknown], 0);
}

TEST(Bands, AddUpToThePeak) {
  const Store store = MakeTraining(3);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  uint64_t sum = 0;
  for (const Band& band : FindBands(analysis)) sum += band.at_peak_bytes;
  EXPECT_EQ(sum, analysis.peak.bytes);
}

}  // namespace
}  // namespace memstrata
