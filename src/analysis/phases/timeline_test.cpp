#include "analysis/phases/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

std::vector<Phase> PhasesOfStep(const Timeline& timeline, uint32_t step) {
  std::vector<Phase> phases;
  for (const PhaseSpan& span : timeline.phases) {
    if (span.step == step) phases.push_back(span.phase);
  }
  return phases;
}

TEST(Timeline, FindsThePhasesOfATrainingStep) {
  const Store store = MakeTraining(3);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.basis, PhaseBasis::kStack);
  ASSERT_EQ(timeline.steps.size(), 3U);
  EXPECT_EQ(timeline.phases.front().phase, Phase::kLoad);
  const std::vector<Phase> expected = {Phase::kInput,    Phase::kForward,   Phase::kLoss,
                                       Phase::kBackward, Phase::kOptimizer, Phase::kZeroGrad};
  for (uint32_t step = 0; step < 3; ++step) EXPECT_EQ(PhasesOfStep(timeline, step), expected) << "step " << step;
}

TEST(Timeline, PhasesTileTheEvents) {
  const Store store = MakeTraining(2);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  uint32_t next = 0;
  for (const PhaseSpan& span : timeline.phases) {
    EXPECT_EQ(span.begin_seq, next);
    EXPECT_LT(span.begin_seq, span.end_seq);
    next = span.end_seq;
  }
  EXPECT_EQ(next, store.heaps[0].events.size());
}

TEST(Timeline, StepsBeginWhereTheLoopStartsOver) {
  const Store store = MakeTraining(3);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  for (const StepSpan& step : timeline.steps) EXPECT_EQ(timeline.phase_of_event[step.begin_seq], Phase::kInput);
}

TEST(Timeline, AStepThatLacksItsForwardIsNotComplete) {
  TestProgram program;
  for (int step = 0; step < 4; ++step) {
    uint32_t block = kNone;
    if (step > 0) {  // the recording starts before the first backward
      block = program.Alloc(1 << 20, {"<module>@train.py:9", "train@train.py:2",
                                      "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    }
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
    if (block != kNone) program.Free(block, {});
    program.Free(root, {});
    program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480",
                                      "step@torch/optim/sgd.py:2"}),
                 {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 4U);
  EXPECT_FALSE(timeline.steps[0].is_complete);
  for (size_t step = 1; step < 4; ++step) EXPECT_TRUE(timeline.steps[step].is_complete) << "step " << step;
}

TEST(Timeline, ARecordingWithoutAPatternHasNoSteps) {
  TestProgram program;
  program.Free(program.Alloc(4096, {}), {});
  program.Alloc(8192, {});
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_TRUE(timeline.steps.empty());
  EXPECT_FALSE(timeline.Has(Phase::kForward));
}

// One forward whose layers repeat is one step, and what it keeps to the end of the recording waits for a backward.
TEST(Timeline, AForwardThatTheRecordingCutsOffIsOneStepOfTraining) {
  TestProgram program;
  for (int layer = 0; layer < 12; ++layer) {
    for (const std::string_view line : {"forward@block.py:10", "forward@block.py:11"}) {
      program.Alloc(1 << 20, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                              "forward@model.py:71", "_call_impl@torch/nn/modules/module.py:1700", line});
      program.Free(program.Alloc(1 << 21, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                           "forward@model.py:71", "_call_impl@torch/nn/modules/module.py:1700", line}),
                   {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:71",
                    "_call_impl@torch/nn/modules/module.py:1700", line});
    }
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), 1U);
  EXPECT_TRUE(timeline.Has(Phase::kForward));
  EXPECT_FALSE(timeline.Has(Phase::kEval));
}

}  // namespace
}  // namespace memstrata
