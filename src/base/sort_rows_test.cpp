#include "base/sort_rows.h"

#include <gtest/gtest.h>

#include <random>

namespace memstrata {
namespace {

TEST(SortRowsTest, AgreesWithAStableSortOnRandomRuns) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> keys;
    const int run_count = static_cast<int>(random() % 6);
    for (int run = 0; run < run_count; ++run) {
      int key = static_cast<int>(random() % 5);
      for (int i = static_cast<int>(random() % 20); i > 0; --i) keys.push_back(key += static_cast<int>(random() % 3));
    }
    std::vector<uint32_t> rows(keys.size());
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::vector<uint32_t> expected = rows;
    std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    SortRows(rows, [&](uint32_t row) { return keys[row]; });
    EXPECT_EQ(rows, expected);
  }
}

TEST(SortRowsTest, SortsFallingKeys) {
  std::vector<uint32_t> rows = {0, 1, 2, 3, 4};
  SortRows(rows, [](uint32_t row) { return -static_cast<int>(row); });
  EXPECT_EQ(rows, (std::vector<uint32_t>{4, 3, 2, 1, 0}));
}

}  // namespace
}  // namespace memstrata
