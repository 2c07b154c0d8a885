#include "analysis/growth/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analysis/growth/growth_pass.h"
#include "analysis/growth/test_step.h"
#include "analysis/heap_analysis.h"

namespace memstrata {
namespace {

TEST(Growth, AHealthyRunDoesNotGrow) {
  const Store store = MakeTraining(6);
  const Growth growth = FindGrowth(AnalyseHeap(store, store.heaps[0]));
  EXPECT_EQ(growth.kind, GrowthKind::kNoGrowth);
  EXPECT_EQ(growth.bytes_per_step, 0);
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

/// A training whose loop is `script`: what it does after each step may stay.
class Training {
 public:
  void Step(uint64_t activation_bytes = 4 << 20) { TrainStep(program, activation_bytes); }

  uint32_t Keep(uint64_t size_bytes) {
    return program.Alloc(size_bytes, {"<module>@train.py:9", "train@train.py:5", "keep@train.py:20"});
  }

  /// Keeps a block in place of an old one (kNone: of none), which goes when the new one is there.
  uint32_t Replace(uint32_t old, uint64_t size_bytes) {
    const uint32_t block = Keep(size_bytes);
    if (old != kNone) program.Free(old, {"<module>@train.py:9", "train@train.py:5"});
    return block;
  }

  Growth Judge() {
    store_ = program.Finish();
    return FindGrowth(AnalyseHeap(store_, store_.heaps[0]));
  }

  TestProgram program;

 private:
  Store store_;
};

TEST(Growth, ALeakOfEveryThirdStepIsALeak) {
  Training training;
  for (int step = 0; step < 14; ++step) {
    training.Step();
    if (step % 3 == 2) training.Keep(16 << 20);
  }
  const Growth growth = training.Judge();
  ASSERT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.rising_step_count, 4U);
  EXPECT_EQ(growth.median_rise_bytes, 16 << 20);
  EXPECT_EQ(growth.bytes_per_step, (16 << 20) / 3);
  EXPECT_FALSE(growth.EachStepRises());
}

TEST(Growth, ALeakMayBeginLate) {
  Training training;
  for (int step = 0; step < 12; ++step) {
    training.Step();
    if (step >= 4) training.Keep(16 << 20);
  }
  const Growth growth = training.Judge();
  ASSERT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.begin_step, 4U);
  EXPECT_EQ(growth.bytes_per_step, 16 << 20);
  EXPECT_TRUE(growth.EachStepRises());
}

TEST(Growth, WhatEveryStepLeavesIsNoNoiseHoweverLargeThePeak) {
  Training training;
  training.program.Alloc(uint64_t{70} << 30, {"<module>@train.py:9", "train@train.py:1"});
  for (int step = 0; step < 8; ++step) {
    training.Step();
    training.Keep(800 << 10);
  }
  const Growth growth = training.Judge();
  ASSERT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.bytes_per_step, 800 << 10);
}

// The batch of a step is given back when the next one has come; its size changes as an image's does.
Growth JudgeBatches(uint64_t leak_bytes) {
  Training training;
  uint32_t batch = kNone;
  for (const int size_mib : {10, 12, 16, 8, 12, 14, 18, 6, 8, 10, 16, 4, 8}) {
    const uint32_t next =
        training.program.Alloc(uint64_t{1} << 20 << (size_mib / 4), {"<module>@train.py:9", "train@train.py:1"});
    if (batch != kNone) training.program.Free(batch, {"<module>@train.py:9", "train@train.py:1"});
    batch = next;
    training.Step();
    if (leak_bytes > 0) training.Keep(leak_bytes);
  }
  return training.Judge();
}

TEST(Growth, BatchesOfManySizesAreNoSawtooth) {
  EXPECT_EQ(JudgeBatches(0).kind, GrowthKind::kNoGrowth);
  const Growth growth = JudgeBatches(2 << 20);
  EXPECT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.bytes_per_step, 2 << 20);
}

TEST(Growth, ACacheByShapeGrowsWithNewShapesOnly) {
  Training training;
  std::vector<uint64_t> seen;
  for (const uint64_t shape : {4, 6, 4, 8, 10, 6, 8, 12, 4, 10, 14, 6, 4}) {
    training.Step(shape << 20);
    if (std::find(seen.begin(), seen.end(), shape) == seen.end()) training.Keep(shape << 20);
    seen.push_back(shape);
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kWarmUp);
  EXPECT_TRUE(growth.is_shape_cache);
  EXPECT_EQ(growth.bytes_per_step, (6 + 8 + 10 + 12 + 14) << 20);
}

// Each step's shape is new, as is that of what it leaves: that tells no cache from a leak.
TEST(Growth, ShapesThatNeverComeAgainShowNoCache) {
  Training training;
  for (uint64_t step = 0; step < 10; ++step) {
    training.Step((4 + step) << 20);
    training.Keep(2 << 20);
  }
  EXPECT_EQ(training.Judge().kind, GrowthKind::kLeak);
}

// The largest block of each forward is the same: smaller ones tell the shapes apart.
TEST(Growth, ACacheByShapeIsSeenBesideLargerBlocks) {
  Training training;
  std::vector<uint64_t> seen;
  for (const uint64_t shape : {4, 6, 4, 8, 10, 6, 8, 12, 4, 10, 14, 6, 4}) {
    training.program.Free(training.program.Alloc(64 << 20, {"<module>@train.py:9", "train@train.py:2",
                                                            "forward@torch/nn/modules/linear.py:100"}),
                          {});
    training.Step(shape << 20);
    if (std::find(seen.begin(), seen.end(), shape) == seen.end()) training.Keep(shape << 20);
    seen.push_back(shape);
  }
  EXPECT_TRUE(training.Judge().is_shape_cache);
}

// A buffer of limited length: full after half of the steps.
TEST(Growth, ABufferThatFillsUpIsNoLeak) {
  Training training;
  std::vector<uint32_t> buffer;
  for (int step = 0; step < 30; ++step) {
    training.Step();
    buffer.push_back(training.Keep(2 << 20));
    if (buffer.size() <= 14) continue;
    training.program.Free(buffer.front(), {"<module>@train.py:9", "train@train.py:5"});
    buffer.erase(buffer.begin());
  }
  const Growth growth = training.Judge();
  EXPECT_TRUE(growth.kind == GrowthKind::kNoGrowth || growth.kind == GrowthKind::kWarmUp);
}

// The outputs of the last four steps, of many sizes; the program ends and drops them all at once.
TEST(Growth, AWindowOfOutputsIsNoSawtooth) {
  Training training;
  std::vector<uint32_t> window;
  for (const int size_mib : {5, 9, 3, 8, 12, 4, 7, 10, 6, 3, 11, 5, 9, 8}) {
    training.Step();
    window.push_back(training.Keep(static_cast<uint64_t>(size_mib) << 20));
    if (window.size() <= 4) continue;
    training.program.Free(window.front(), {"<module>@train.py:9", "train@train.py:5"});
    window.erase(window.begin());
  }
  for (const uint32_t old : window) training.program.Free(old, {"<module>@train.py:9"});
  EXPECT_EQ(training.Judge().kind, GrowthKind::kNoGrowth);
}

// A list that a line of the program empties every fifth step: no collector frees it.
TEST(Growth, AListThatIsEmptiedNamesTheLine) {
  Training training;
  std::vector<uint32_t> outputs;
  for (int step = 0; step < 17; ++step) {
    training.Step();
    outputs.push_back(training.Keep(6 << 20));
    if (step % 5 != 4) continue;
    for (const uint32_t old : outputs)
      training.program.Free(old, {"<module>@train.py:9", "train@train.py:6", "empty@train.py:40"});
    outputs.clear();
  }
  const Store store = training.program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.growth.kind, GrowthKind::kSawtooth);
  const std::vector<Finding> findings = ReportGrowth(analysis);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kInfo);
  EXPECT_NE(findings[0].text.find("it is given back at empty (train.py:40)"), std::string::npos) << findings[0].text;
}

// Another layer is trained from steps 2, 5 and 9 on: each brings a gradient and two states of its parameter.
TEST(Growth, LayersThatAreTrainedLaterAreNoLeak) {
  constexpr uint64_t kParameterBytes = 3 << 20;
  Training training;
  for (int i = 0; i < 4; ++i)
    training.program.Alloc(kParameterBytes, {"<module>@train.py:8", "_apply@torch/nn/modules/module.py:900"});
  for (int step = 0; step < 12; ++step) {
    const bool is_new = step == 0 || step == 2 || step == 5 || step == 9;
    const uint32_t begin_seq = training.program.event_count();
    const uint32_t block = training.program.Alloc(
        4 << 20, {"<module>@train.py:9", "train@train.py:2", "forward@torch/nn/modules/linear.py:100"});
    training.program.Free(training.program.Alloc(4, {"<module>@train.py:9", "train@train.py:3",
                                                     "_make_grads@torch/autograd/__init__.py:2"}),
                          {});
    if (is_new) training.program.Alloc(kParameterBytes, {});
    training.program.Free(block, {});
    for (int i = 0; i < 2 && is_new; ++i)
      training.program.Alloc(kParameterBytes,
                             {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480",
                              "_init_group@torch/optim/adam.py:170"});
    training.program.Free(
        training.program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480",
                                      "_multi_tensor_adam@torch/optim/adam.py:700"}),
        {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480"});
    training.program.Annotate("ProfilerStep#" + std::to_string(step), begin_seq, training.program.event_count());
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kWarmUp);
  EXPECT_EQ(growth.bytes_per_step, 9 * static_cast<int64_t>(kParameterBytes));
}

// Each step copies the history to a block that is larger by its own part, and gives the old one back.
TEST(Growth, AHistoryThatIsCopiedGrows) {
  Training training;
  uint32_t history = kNone;
  for (uint64_t step = 0; step < 10; ++step) {
    training.Step();
    history = training.Replace(history, (step + 1) * (3 << 20));
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.bytes_per_step, 3 << 20);
}

// The batches of a curriculum get longer too, and with them all that the forwards make.
TEST(Growth, BatchesThatGetLongerAreNoLeak) {
  Training training;
  uint32_t batch = kNone;
  for (uint64_t step = 0; step < 10; ++step) {
    batch = training.Replace(batch, (step + 1) * (3 << 20));
    training.Step((step + 1) * (8 << 20));
  }
  EXPECT_EQ(training.Judge().kind, GrowthKind::kNoGrowth);
}

TEST(Growth, FewStepsTellNothing) {
  const Store store = MakeTraining(2, 12 << 20);
  const std::vector<Finding> findings = ReportGrowth(AnalyseHeap(store, store.heaps[0]));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].text, "Whether memory grows cannot be told from 2 steps.");
}

// The leak of unlike steps has the mean of whole rounds, and the line that holds most has its share of it.
TEST(Growth, ALeakOfUnlikeStepsHasItsMean) {
  Training training;
  for (int step = 0; step < 14; ++step) {
    training.Step();
    training.Keep(uint64_t{10} << 20 << (step % 3));
    training.program.Alloc(6 << 20, {"<module>@train.py:9", "train@train.py:6", "log@train.py:30"});
  }
  const Growth growth = training.Judge();
  ASSERT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.period, 3U);
  EXPECT_EQ(growth.bytes_per_step, (int64_t{70} << 20) / 3 + (6 << 20));
  EXPECT_FALSE(growth.are_rises_alike);
  EXPECT_LT(growth.largest_holder_bytes, growth.holder_bytes);
  EXPECT_GT(growth.largest_holder_bytes * 2, growth.holder_bytes);
}

TEST(Growth, WhatStopsIsNoLeak) {
  Training training;
  for (int step = 0; step < 14; ++step) {
    training.Step();
    if (step < 4) training.Keep(16 << 20);
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kWarmUp);
  EXPECT_EQ(growth.rising_step_count, 3U);  // the first step is not looked at
  EXPECT_EQ(growth.last_rising_step, 3U);
  EXPECT_EQ(growth.bytes_per_step, 48 << 20);
}

TEST(Growth, TwiceIsNeitherOnceNorARule) {
  Training training;
  for (int step = 0; step < 10; ++step) {
    training.Step();
    if (step == 3 || step == 7) training.Keep(16 << 20);
  }
  EXPECT_EQ(training.Judge().kind, GrowthKind::kUnknown);
}

// A block that stays for one step or three comes with step 3, and another always takes its place.
TEST(Growth, WhatLaterStepsReplaceIsNotKept) {
  Training training;
  uint32_t state = kNone;
  for (int step = 0; step < 14; ++step) {
    training.Step();
    if (step != 3 && step != 4 && step != 7 && step != 8 && step != 11) continue;
    state = training.Replace(state, 16 << 20);
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kWarmUp);
  EXPECT_EQ(growth.bytes_per_step, 16 << 20);
}

TEST(Growth, AWorkspaceOfALibraryIsNotLeftBehind) {
  Training training;
  for (int step = 0; step < 10; ++step) {
    training.Step();
    if (step == 3)
      training.program.Alloc(32 << 20, {"<module>@train.py:9", "at::cuda::getNewWorkspace()@CublasHandlePool.cpp:0"});
  }
  EXPECT_EQ(training.Judge().kind, GrowthKind::kNoGrowth);
}

// A list of results that is joined to a longer one in every step.
TEST(Growth, ASmallRiseOfEveryStepIsALeak) {
  Training training;
  uint32_t history = kNone;
  for (uint64_t step = 0; step < 14; ++step) {
    training.Step();
    history = training.Replace(history, (step + 1) * 20'480);
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(growth.bytes_per_step, 20'480);
}

TEST(Growth, OneJumpMayLieAcrossTheBorderOfTwoSteps) {
  Training training;
  for (int step = 0; step < 10; ++step) {
    training.Step();
    if (step == 3) training.Keep(16 << 20);
    if (step == 4) training.Keep(48 << 20);
  }
  const Growth growth = training.Judge();
  EXPECT_EQ(growth.kind, GrowthKind::kOneOff);
  EXPECT_EQ(growth.bytes_per_step, 64 << 20);
}

// The program ends and gives all back: that is no fall of the sawtooth, however large.
TEST(Growth, TheEndOfTheProgramIsNoTooth) {
  Training training;
  const uint32_t model = training.program.Alloc(30 << 20, {"<module>@train.py:9", "train@train.py:1"});
  std::vector<uint32_t> garbage;
  for (int step = 0; step < 12; ++step) {
    training.Step();
    if (step % 4 == 3) {
      for (const uint32_t old : garbage) training.program.Free(old, {});
      garbage.clear();
    }
    garbage.push_back(training.Keep(10 << 20));
  }
  for (const uint32_t old : garbage) training.program.Free(old, {});
  training.program.Free(model, {});
  const Growth growth = training.Judge();
  ASSERT_EQ(growth.kind, GrowthKind::kSawtooth);
  EXPECT_EQ(growth.tooth_count, 2U);  // of the third, only the end would tell
}

TEST(Growth, TwoStepsCannotShowALeak) {
  const Store store = MakeTraining(2, 12 << 20);
  EXPECT_EQ(FindGrowth(AnalyseHeap(store, store.heaps[0])).kind, GrowthKind::kNoGrowth);
}

}  // namespace
}  // namespace memstrata
