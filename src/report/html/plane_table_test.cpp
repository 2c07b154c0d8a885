#include "report/html/plane_table.h"

#include <gtest/gtest.h>

#include <random>

namespace memstrata {
namespace {

uint64_t Undo(uint64_t before, uint64_t code) { return before + (code >> 1 ^ (~(code & 1) + 1)); }

TEST(Differences, AreSmallForSmallChanges) {
  EXPECT_EQ(Differences(std::vector<uint64_t>{0, 1, 0, 2, 0}), (std::vector<uint64_t>{0, 2, 1, 4, 3}));
  EXPECT_TRUE(Differences({}).empty());
}

TEST(Differences, CanBeUndone) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> values(random() % 40);
    for (uint64_t& value : values) value = random() >> random() % 64;
    uint64_t before = 0;
    const std::vector<uint64_t> codes = Differences(values);
    for (size_t i = 0; i < values.size(); ++i) {
      before = Undo(before, codes[i]);
      EXPECT_EQ(before, values[i]);
    }
  }
}

TEST(Planes, AreAsManyAsTheLargestValueNeeds) {
  const auto column_count = [](const std::vector<uint64_t>& values) {
    FrameWriter frame("test");
    frame.StartTable("rows", values.size());
    WritePlanes(frame, "value", values);
    const std::string bytes = std::move(frame).Finish();
    int count = 0;
    while (bytes.find("value." + std::to_string(count)) != std::string::npos) ++count;
    return count;
  };
  EXPECT_EQ(column_count({}), 1);
  EXPECT_EQ(column_count({0, 255}), 1);
  EXPECT_EQ(column_count({0, 256}), 2);
  EXPECT_EQ(column_count({UINT64_MAX}), 8);
}

}  // namespace
}  // namespace memstrata
