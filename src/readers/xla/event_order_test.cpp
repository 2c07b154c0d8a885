#include "readers/xla/event_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace memstrata::xla {
namespace {

// How many steps do not follow from the one before, from `start`.
int BrokenSteps(const std::vector<HeapChange>& changes, const std::vector<uint32_t>& order, uint64_t start) {
  int broken = 0;
  for (const uint32_t i : order) {
    broken += changes[i].before_bytes != start;
    start = changes[i].after_bytes;
  }
  return broken;
}

TEST(EventOrderTest, FindsThePathThroughShuffledEventsOfOneTime) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<HeapChange> changes;
    uint64_t level = 1000;
    for (int i = 0; i < 12; ++i) {
      // Few distinct sizes, so that values repeat and greedy choices run into dead ends.
      const uint64_t size = 100 * (1 + random() % 2);
      const uint64_t next = random() % 2 == 0 && level >= size ? level - size : level + size;
      changes.push_back({level, next});
      level = next;
    }
    std::shuffle(changes.begin(), changes.end(), random);
    const std::vector<uint32_t> order = OrderOfEqualTimes(changes, true, 1000);
    ASSERT_EQ(order.size(), changes.size());
    EXPECT_EQ(BrokenSteps(changes, order, 1000), 0);
  }
}

TEST(EventOrderTest, FindsTheStartWhenItIsNotKnown) {
  const std::vector<HeapChange> changes = {{300, 500}, {100, 300}, {500, 400}};
  EXPECT_EQ(OrderOfEqualTimes(changes, false, 0), (std::vector<uint32_t>{1, 0, 2}));
}

TEST(EventOrderTest, KeepsEveryEventWhenSomeAreMissing) {
  const std::vector<HeapChange> changes = {{900, 950}, {100, 300}, {300, 350}};
  const std::vector<uint32_t> order = OrderOfEqualTimes(changes, true, 100);
  EXPECT_EQ(order, (std::vector<uint32_t>{1, 2, 0}));
}

}  // namespace
}  // namespace memstrata::xla
