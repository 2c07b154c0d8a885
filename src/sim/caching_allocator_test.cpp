#include "sim/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace memstrata::sim {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(CachingAllocator, RoundsToBlocksAndTakesSegmentsByClass) {
  CachingAllocator allocator(std::nullopt);
  EXPECT_EQ(allocator.BlockBytes(allocator.Allocate(1)), 512u);
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMiB);
  allocator.Allocate(2 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 22 * kMiB);
  allocator.Allocate(19 * kMiB);  // more than the 18 MiB that are left of the 20 MiB segment
  EXPECT_EQ(allocator.reserved_bytes(), 22 * kMiB + 20 * kMiB);
}

TEST(CachingAllocator, KeepsARestOfOneMebibyteInTheBlock) {
  CachingAllocator allocator(std::nullopt);
  const BlockId large = allocator.Allocate(12 * kMiB);
  allocator.Free(large);
  const BlockId smaller = allocator.Allocate(11 * kMiB);
  EXPECT_EQ(allocator.BlockBytes(smaller), 12 * kMiB);  // the rest is not more than 1 MiB: not split
  EXPECT_EQ(allocator.allocated_bytes(), 12 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestFreeBlockThatFits) {
  CachingAllocator allocator(std::nullopt);
  const BlockId wide = allocator.Allocate(40 * kMiB);
  const BlockId narrow = allocator.Allocate(20 * kMiB);
  const uint64_t narrow_address = allocator.AddressOf(narrow);
  allocator.Free(wide);
  allocator.Free(narrow);
  EXPECT_EQ(allocator.AddressOf(allocator.Allocate(20 * kMiB)), narrow_address);
}

TEST(CachingAllocator, GivesCachedSegmentsBackBeforeItFails) {
  CachingAllocator allocator(64 * kMiB);
  allocator.Free(allocator.Allocate(40 * kMiB));
  EXPECT_NE(allocator.Allocate(50 * kMiB), kNoBlock);
  EXPECT_EQ(allocator.flush_count(), 1u);
  EXPECT_EQ(allocator.Allocate(20 * kMiB), kNoBlock);
}

TEST(CachingAllocator, MergesNeighboursAndAddsUpUnderRandomUse) {
  CachingAllocator allocator(std::nullopt);
  std::mt19937 random(7);
  std::vector<BlockId> live;
  uint64_t live_bytes = 0;
  for (int i = 0; i < 20000; ++i) {
    if (live.empty() || random() % 2 == 0) {
      live.push_back(allocator.Allocate(1 + random() % (4 * kMiB)));
      live_bytes += allocator.BlockBytes(live.back());
    } else {
      const size_t at = random() % live.size();
      live_bytes -= allocator.BlockBytes(live[at]);
      allocator.Free(live[at]);
      live[at] = live.back();
      live.pop_back();
    }
    ASSERT_EQ(allocator.allocated_bytes(), live_bytes);
    ASSERT_GE(allocator.reserved_bytes(), live_bytes);
  }
  for (const BlockId block : live) allocator.Free(block);
  EXPECT_EQ(allocator.allocated_bytes(), 0u);
  // Everything merged: a request as large as the largest segment needs no new one.
  const uint64_t reserved_bytes = allocator.reserved_bytes();
  allocator.Allocate(20 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), reserved_bytes);
}

TEST(CachingAllocator, ABlockServesItsOwnStreamAndPoolOnly) {
  CachingAllocator allocator(std::nullopt);
  allocator.Free(allocator.Allocate(40 * kMiB, 1));
  allocator.Allocate(40 * kMiB, 2);
  EXPECT_EQ(allocator.reserved_bytes(), 80 * kMiB);
  allocator.Allocate(40 * kMiB, 1, 5);
  EXPECT_EQ(allocator.reserved_bytes(), 120 * kMiB);
  allocator.Allocate(40 * kMiB, 1);
  EXPECT_EQ(allocator.reserved_bytes(), 120 * kMiB);
}

TEST(CachingAllocator, APendingBlockJoinsNothing) {
  CachingAllocator allocator(std::nullopt);
  const BlockId first = allocator.Allocate(4 * kMiB);
  const BlockId second = allocator.Allocate(4 * kMiB);
  allocator.MarkPending(first);
  allocator.Free(second);
  EXPECT_EQ(allocator.LargestFreeBytes(0, false), 16 * kMiB);
  allocator.Free(first);
  EXPECT_EQ(allocator.LargestFreeBytes(0, false), 20 * kMiB);
}

TEST(CachingAllocator, LimitedSplittingKeepsLargeBlocksWholeAndGivesThemBackFirst) {
  AllocatorSettings settings;
  settings.max_split_bytes = 64 * kMiB;
  CachingAllocator allocator(200 * kMiB, settings);
  allocator.Free(allocator.Allocate(100 * kMiB));
  allocator.Allocate(10 * kMiB);  // not out of the 100 MiB
  EXPECT_EQ(allocator.reserved_bytes(), 110 * kMiB);
  allocator.Free(allocator.Allocate(50 * kMiB));
  EXPECT_NE(allocator.Allocate(130 * kMiB), kNoBlock);  // the 100 MiB go back, the 50 MiB do not suffice
  EXPECT_EQ(allocator.flush_count(), 1U);
}

TEST(CachingAllocator, ExpandableSegmentsGrowByPagesAndGiveThemBack) {
  AllocatorSettings settings;
  settings.expandable_segments = true;
  CachingAllocator allocator(std::nullopt, settings);
  const BlockId first = allocator.Allocate(30 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMiB);
  const BlockId second = allocator.Allocate(30 * kMiB);  // 10 MiB are mapped already
  EXPECT_EQ(allocator.reserved_bytes(), 60 * kMiB);
  EXPECT_EQ(allocator.AddressOf(second), allocator.AddressOf(first) + 30 * kMiB);
  allocator.Free(first);
  allocator.EmptyCache();  // the page in the middle holds a part of the second block
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMiB);
  allocator.Free(second);
  allocator.EmptyCache();
  EXPECT_EQ(allocator.reserved_bytes(), 0U);
  EXPECT_EQ(allocator.allocated_bytes(), 0U);
}

TEST(CachingAllocator, RefusesRequestsThatNoDeviceHas) {
  for (const bool expandable : {false, true}) {
    AllocatorSettings settings;
    settings.expandable_segments = expandable;
    CachingAllocator allocator(std::nullopt, settings);
    EXPECT_EQ(allocator.Allocate(~uint64_t{0}), kNoBlock);
    EXPECT_EQ(allocator.Allocate(kRequestCeilingBytes), kNoBlock);
    EXPECT_EQ(allocator.reserved_bytes(), 0U);
  }
}

TEST(CachingAllocator, CollectsGarbageAboveItsThreshold) {
  AllocatorSettings settings;
  settings.garbage_collection_threshold = 0.5;
  CachingAllocator allocator(400 * kMiB, settings);
  allocator.Free(allocator.Allocate(100 * kMiB));
  allocator.Allocate(150 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 250 * kMiB);
  allocator.Allocate(140 * kMiB);  // 50 MiB above the threshold: the idle 100 MiB go
  EXPECT_EQ(allocator.reserved_bytes(), 290 * kMiB);
  EXPECT_EQ(allocator.flush_count(), 0U);
}

TEST(CachingAllocator, TakesTheStateOfARecording) {
  CachingAllocator allocator(std::nullopt);
  allocator.AddSegment(0x1000000, 40 * kMiB, 0, 0, false, false);
  const BlockId middle = allocator.TakeAt(0x1000000 + 10 * kMiB, 20 * kMiB, 0);
  ASSERT_NE(middle, kNoBlock);
  EXPECT_EQ(allocator.TakeAt(0x1000000 + 5 * kMiB, 10 * kMiB, 0), kNoBlock);  // overlaps
  EXPECT_FALSE(allocator.ReleaseSegmentAt(0x1000000));
  allocator.Free(middle);
  EXPECT_TRUE(allocator.ReleaseSegmentAt(0x1000000));
  EXPECT_EQ(allocator.reserved_bytes(), 0U);
}

}  // namespace
}  // namespace memstrata::sim
