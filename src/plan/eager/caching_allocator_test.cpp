#include "plan/eager/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace memstrata::plan::eager {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(CachingAllocator, RoundsToBlocksAndTakesSegmentsByClass) {
  CachingAllocator allocator(std::nullopt);
  EXPECT_EQ(allocator.Allocate(1)->size_bytes, 512u);
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMiB);
  allocator.Allocate(2 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 22 * kMiB);
  allocator.Allocate(19 * kMiB);  // more than the 18 MiB that are left of the 20 MiB segment
  EXPECT_EQ(allocator.reserved_bytes(), 22 * kMiB + 20 * kMiB);
}

TEST(CachingAllocator, KeepsARestOfOneMebibyteInTheBlock) {
  CachingAllocator allocator(std::nullopt);
  CachingAllocator::Block* large = allocator.Allocate(12 * kMiB);
  allocator.Free(large);
  CachingAllocator::Block* smaller = allocator.Allocate(11 * kMiB);
  EXPECT_EQ(smaller->size_bytes, 12 * kMiB);  // the rest is not more than 1 MiB: not split
  EXPECT_EQ(allocator.allocated_bytes(), 12 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestFreeBlockThatFits) {
  CachingAllocator allocator(std::nullopt);
  CachingAllocator::Block* wide = allocator.Allocate(40 * kMiB);
  CachingAllocator::Block* narrow = allocator.Allocate(20 * kMiB);
  const uint64_t narrow_address = narrow->address;
  allocator.Free(wide);
  allocator.Free(narrow);
  EXPECT_EQ(allocator.Allocate(20 * kMiB)->address, narrow_address);
}

TEST(CachingAllocator, GivesCachedSegmentsBackBeforeItFails) {
  CachingAllocator allocator(64 * kMiB);
  allocator.Free(allocator.Allocate(40 * kMiB));
  EXPECT_NE(allocator.Allocate(50 * kMiB), nullptr);
  EXPECT_EQ(allocator.flush_count(), 1u);
  EXPECT_EQ(allocator.Allocate(20 * kMiB), nullptr);
}

TEST(CachingAllocator, MergesNeighboursAndAddsUpUnderRandomUse) {
  CachingAllocator allocator(std::nullopt);
  std::mt19937 random(7);
  std::vector<CachingAllocator::Block*> live;
  uint64_t live_bytes = 0;
  for (int i = 0; i < 20000; ++i) {
    if (live.empty() || random() % 2 == 0) {
      live.push_back(allocator.Allocate(1 + random() % (4 * kMiB)));
      live_bytes += live.back()->size_bytes;
    } else {
      const size_t at = random() % live.size();
      live_bytes -= live[at]->size_bytes;
      allocator.Free(live[at]);
      live[at] = live.back();
      live.pop_back();
    }
    ASSERT_EQ(allocator.allocated_bytes(), live_bytes);
    ASSERT_GE(allocator.reserved_bytes(), live_bytes);
  }
  for (CachingAllocator::Block* block : live) allocator.Free(block);
  EXPECT_EQ(allocator.allocated_bytes(), 0u);
  // Everything merged: a request as large as the largest segment needs no new one.
  const uint64_t reserved_bytes = allocator.reserved_bytes();
  allocator.Allocate(20 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), reserved_bytes);
}

}  // namespace
}  // namespace memstrata::plan::eager
