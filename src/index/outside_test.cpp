// What lies on the device outside the allocator, and which sample speaks for the peak.

#include "index/outside.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

DeviceSample Sample(int64_t time_ns, uint64_t free_bytes, uint64_t reserved_bytes) {
  return {.time_ns = time_ns, .free_bytes = free_bytes, .total_bytes = 1000, .reserved_bytes = reserved_bytes};
}

Heap HeapWith(std::vector<DeviceSample> samples) {
  Heap heap;
  heap.device_samples = std::move(samples);
  return heap;
}

TEST(Outside, IsUnknownWhereNobodyAskedTheDevice) { EXPECT_FALSE(FindOutside(Heap{}, 5).has_value()); }

TEST(Outside, TakesTheEndOfTheStepThatHoldsThePeak) {
  const Heap heap = HeapWith({Sample(10, 700, 200), Sample(20, 500, 350), Sample(30, 650, 200)});
  const auto outside = FindOutside(heap, 15);
  ASSERT_TRUE(outside.has_value());
  EXPECT_EQ(outside->sample.time_ns, 20);
  EXPECT_EQ(outside->bytes, 150u);
  EXPECT_EQ(outside->highest_bytes, 150u);
}

TEST(Outside, TakesTheLastSampleForALaterOrTimelessPeak) {
  const Heap heap = HeapWith({Sample(10, 700, 100), Sample(20, 500, 450)});
  EXPECT_EQ(FindOutside(heap, 99)->bytes, 50u);
  EXPECT_EQ(FindOutside(heap, std::nullopt)->bytes, 50u);
  EXPECT_EQ(FindOutside(heap, 99)->highest_bytes, 200u);
}

TEST(Outside, ContradictoryAnswersAreUnknown) {
  EXPECT_FALSE(FindOutside(HeapWith({Sample(10, 900, 200)}), 5).has_value());
  EXPECT_FALSE(FindOutside(HeapWith({Sample(10, 2000, 0)}), 5).has_value());
}

}  // namespace
}  // namespace memstrata
