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

TEST(Growth, StepsThatAlternateAreNoSawtooth) {
  // Each even step keeps a block until the next one ends.
  TestProgram program;
  uint32_t kept = kNone;
  for (int step = 0; step < 8; ++step) {
    const uint32_t block =
        program.Alloc(4 << 20, {"<module>@train.py:9", "train@train.py:2", "forward@torch/nn/modules/linear.py:100"});
    program.Free(
        program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"}), {});
    program.Free(block, {});
    program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "step@torch/optim/sgd.py:2"}),
                 {"<module>@train.py:9", "train@train.py:4"});
    if (step % 2 == 0) {
      kept = program.Alloc(8 << 20, {"<module>@train.py:9", "train@train.py:5"});
    } else {
      program.Free(kept, {"<module>@train.py:9", "train@train.py:6"});
    }
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  ASSERT_EQ(analysis.timeline.steps.size(), 8U);
  EXPECT_NE(FindGrowth(analysis).kind, GrowthKind::kSawtooth);
  EXPECT_NE(FindGrowth(analysis).kind, GrowthKind::kLeak);
}

// Garbage that a collector frees every fourth step, and at the end.
TEST(Growth, ASawtoothHasItsTeeth) {
  TestProgram program;
  std::vector<uint32_t> garbage;
  for (int step = 0; step < 12; ++step) {
    const uint32_t block =
        program.Alloc(4 << 20, {"<module>@train.py:9", "train@train.py:2", "forward@torch/nn/modules/linear.py:100"});
    program.Free(
        program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"}), {});
    program.Free(block, {});
    garbage.push_back(
        program.Alloc(10 << 20, {"<module>@train.py:9", "train@train.py:4", "step@torch/optim/sgd.py:2"}));
    if (step % 4 != 3) continue;
    for (const uint32_t old : garbage) program.Free(old, {"<module>@train.py:9", "train@train.py:5"});
    garbage.clear();
  }
  const Store store = program.Finish();
  const Growth growth = FindGrowth(AnalyseHeap(store, store.heaps[0]));
  ASSERT_EQ(growth.kind, GrowthKind::kSawtooth);
  EXPECT_EQ(growth.bytes_per_step, 10 << 20);
  EXPECT_EQ(growth.tooth_bytes, 40U << 20);
  EXPECT_EQ(growth.tooth_count, 3U);
}

TEST(Growth, TwoStepsCannotShowALeak) {
  const Store store = MakeTraining(2, 12 << 20);
  EXPECT_EQ(FindGrowth(AnalyseHeap(store, store.heaps[0])).kind, GrowthKind::kNoGrowth);
}

}  // namespace
}  // namespace memstrata
