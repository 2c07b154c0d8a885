#include "analysis/growth/growth.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

TEST(Growth, AHealthyRunDoesNotGrow) {
  const Store store = MakeTraining(6);
  const Growth growth = FindGrowth(AnalyseHeap(store, store.heaps[0]));
  EXPECT_EQ(growth.kind, GrowthKind::kNoGrowth);
  EXPECT_FALSE(growth.bytes_per_step.has_value());
  EXPECT_EQ(growth.step_count, 6U);
}

TEST(Growth, ALeakHasItsBytesAndItsHolder) {
  const Store store = MakeTraining(6, 12 << 20);
  const Growth growth = FindGrowth(AnalyseHeap(store, store.heaps[0]));
  EXPECT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.bytes_per_step, 12 << 20);
  ASSERT_TRUE(growth.holder_stack.has_value());
  const uint32_t frame = store.stacks.stacks().frame[growth.holder_stack->value].value;
  EXPECT_EQ(store.String(store.stacks.frames().function[frame]), "remember");
}

TEST(Growth, TwoStepsCannotShowALeak) {
  const Store store = MakeTraining(2, 12 << 20);
  EXPECT_EQ(FindGrowth(AnalyseHeap(store, store.heaps[0])).kind, GrowthKind::kNoGrowth);
}

}  // namespace
}  // namespace memstrata
