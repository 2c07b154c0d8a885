#include "readers/xla/sizeless_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace memstrata::xla {
namespace {

TEST(SizelessOrderTest, FindsAConsistentOrderOfShuffledEvents) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::map<uint64_t, uint64_t> live = {{1, 256}, {2, 512}};
    uint64_t level = 5000;
    std::vector<TiedEvent> events;
    std::map<uint64_t, uint64_t> now = live;
    for (int i = 0; i < 16; ++i) {
      const uint64_t addr = 1 + random() % 6;
      if (now.contains(addr)) {
        level -= now[addr];
        now.erase(addr);
        events.push_back({false, addr, 0, level});
      } else {
        const uint64_t size = 256 * (1 + random() % 3);
        now[addr] = size;
        level += size;
        events.push_back({true, addr, size, level});
      }
    }
    std::shuffle(events.begin(), events.end(), random);
    const std::vector<uint32_t> order =
        OrderWithoutSizes(events, 5000, [&](uint64_t addr) { return live.contains(addr) ? live[addr] : 0; });
    ASSERT_EQ(order.size(), events.size());
    level = 5000;
    now = live;
    for (const uint32_t i : order) {
      const TiedEvent& event = events[i];
      if (event.is_allocation) {
        EXPECT_FALSE(now.contains(event.addr));
        now[event.addr] = event.size_bytes;
        level += event.size_bytes;
      } else {
        ASSERT_TRUE(now.contains(event.addr));
        level -= now[event.addr];
        now.erase(event.addr);
      }
      EXPECT_EQ(level, event.after_bytes);
    }
  }
}

TEST(SizelessOrderTest, GivesUpWhereEventsAreMissing) {
  const std::vector<TiedEvent> events = {{true, 1, 100, 900}, {false, 2, 0, 40}};
  EXPECT_TRUE(OrderWithoutSizes(events, 100, [](uint64_t) { return 0; }).empty());
}

}  // namespace
}  // namespace memstrata::xla
