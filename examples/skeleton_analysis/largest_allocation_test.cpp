#include "skeleton_analysis/largest_allocation.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(LargestAllocation, OfAHeapWithoutAllocationsIsNothing) { EXPECT_FALSE(FindLargestAllocation(Store{}, Heap{})); }

TEST(LargestAllocation, IsTheFirstOfEqualOnes) {
  Store store;
  for (const uint64_t size_bytes : {100, 300, 300, 200}) store.allocations.size_bytes.PushBack(size_bytes);
  Heap heap;
  heap.allocations = {0, 4};
  const std::optional<LargestAllocation> largest = FindLargestAllocation(store, heap);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->row, 1);
  EXPECT_EQ(largest->size_bytes, 300);
}

TEST(LargestAllocation, LooksOnlyAtItsHeap) {
  Store store;
  for (const uint64_t size_bytes : {900, 100, 800}) store.allocations.size_bytes.PushBack(size_bytes);
  Heap heap;
  heap.allocations = {1, 2};
  EXPECT_EQ(FindLargestAllocation(store, heap)->size_bytes, 100);
}

}  // namespace
}  // namespace memstrata
