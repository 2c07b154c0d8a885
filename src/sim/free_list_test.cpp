#include "sim/free_list.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace memstrata::sim {
namespace {

std::vector<uint64_t> AddressesOf(const FreeList& list) {
  std::vector<uint64_t> addresses;
  for (const FreeEntry& entry : list) addresses.push_back(entry.addr);
  return addresses;
}

std::vector<uint64_t> AddressesOf(const std::set<FreeEntry>& entries) {
  std::vector<uint64_t> addresses;
  for (const FreeEntry& entry : entries) addresses.push_back(entry.addr);
  return addresses;
}

TEST(FreeList, IsInOrderOfStreamSizeAndAddress) {
  FreeList list;
  list.Insert({0, 1, 2048, 100});
  list.Insert({1, 2, 512, 200});
  list.Insert({0, 3, 512, 400});
  list.Insert({0, 4, 512, 300});
  EXPECT_EQ(AddressesOf(list), (std::vector<uint64_t>{300, 400, 100, 200}));
  EXPECT_EQ(list.LowerBound({0, 0, 513, 0})->addr, 100U);
  EXPECT_EQ(list.LowerBound({0, 0, 4096, 0})->stream, 1U);
  EXPECT_EQ(list.LowerBound({2, 0, 0, 0}), list.end());
}

// Grows to many chunks, shrinks to none, and is a std::set all the time.
TEST(FreeList, IsASet) {
  std::mt19937 random(1);
  FreeList list;
  std::set<FreeEntry> expected;
  uint64_t addr = 0;
  for (const int growing_percent : {90, 50, 60, 10, 0}) {
    for (int turn = 0; turn < 1500; ++turn) {
      const auto stream = static_cast<uint32_t>(random() % 3);
      const FreeEntry key{stream, 0, random() % 40 * 512, 0};
      const auto found = list.LowerBound(key);
      const auto same = expected.lower_bound(key);
      ASSERT_EQ(found == list.end(), same == expected.end());
      if (same != expected.end()) {
        ASSERT_EQ(found->addr, same->addr);
      }
      if (static_cast<int>(random() % 100) < growing_percent) {
        const FreeEntry entry{stream, 7, random() % 40 * 512, ++addr};
        list.Insert(entry);
        expected.insert(entry);
      } else if (same != expected.end()) {
        list.Erase(found);
        expected.erase(same);
      }
    }
    ASSERT_EQ(AddressesOf(list), AddressesOf(expected));
  }
  while (!expected.empty()) {
    list.Erase(*expected.begin());
    expected.erase(expected.begin());
  }
  EXPECT_EQ(list.begin(), list.end());
}

}  // namespace
}  // namespace memstrata::sim
