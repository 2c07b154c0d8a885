#include "analysis/category/loaded_checkpoint.h"

#include <gtest/gtest.h>

#include "analysis/category/loaded_copy_pass.h"
#include "analysis/category/test_sgd.h"

namespace memstrata {
namespace {

constexpr uint64_t kWeights[] = {6 << 20, 4096, 2 << 20, 900'000, 1 << 20};
constexpr uint64_t kTrainedCount = 4;  // the last one is a buffer
constexpr uint64_t kWeightBytes = (6 << 20) + 4096 + (2 << 20) + 900'000 + (1 << 20);

struct Resumed {
  Store store;
  std::vector<uint32_t> weights;
  std::vector<uint32_t> copies;
  std::vector<uint32_t> states;
};

struct Checkpoint {
  bool keeps_weights = true;
  uint32_t states = 1;         // of a parameter, one after the other
  bool makes_states = false;   // in the first update
  bool is_in_program = false;  // not loaded: the program's own line makes the blocks
};

Resumed Resume(const Checkpoint& checkpoint, bool keeps_stacks) {
  Resumed result;
  TestProgram program(keeps_stacks);
  for (const uint64_t size : kWeights)
    result.weights.push_back(program.Alloc(size, {"<module>@train.py:8", "_apply@torch/nn/modules/module.py:900"}));
  const auto load = [&](uint64_t size) {
    return checkpoint.is_in_program
               ? program.Alloc(size, {"<module>@train.py:9"})
               : program.Alloc(size, {"<module>@train.py:9", "load@/lib/torch/serialization.py:1300",
                                      "_deserialize@/lib/torch/serialization.py:400"});
  };
  for (const uint64_t size : kWeights) result.copies.push_back(load(size));
  for (size_t i = 0; i < kTrainedCount; ++i) {
    for (uint32_t k = 0; k < checkpoint.states; ++k) result.states.push_back(load(kWeights[i]));
  }
  if (!checkpoint.keeps_weights) {
    for (const uint32_t row : result.copies) program.Free(row, {"<module>@train.py:10"});
  }
  SgdTraining training(program, {kWeights, kWeights + kTrainedCount});
  for (int step = 0; step < 3; ++step) training.Step(checkpoint.makes_states && step == 0);
  result.store = program.Finish();
  return result;
}

TEST(LoadedCheckpoint, HasACopyOfTheWeightsAndTheStates) {
  for (const bool keeps_stacks : {true, false}) {
    for (const uint32_t states : {1U, 2U}) {
      SCOPED_TRACE(testing::Message() << keeps_stacks << " " << states);
      const Resumed run = Resume({.states = states}, keeps_stacks);
      const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
      for (const uint32_t row : run.weights) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
      for (const uint32_t row : run.copies) EXPECT_EQ(analysis.CategoryOf(row), Category::kUnknown) << row;
      for (const uint32_t row : run.states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
    }
  }
}

TEST(LoadedCheckpoint, OfWhichTheWeightsAreGivenBackLeavesTheStates) {
  const Resumed run = Resume({.keeps_weights = false}, true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  for (const uint32_t row : run.weights) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
  for (const uint32_t row : run.states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
  EXPECT_TRUE(ReportLoadedCopy(analysis).empty());
}

TEST(LoadedCheckpoint, HasNoStatesWhereTheUpdateMakesThem) {
  const Resumed run = Resume({.states = 0, .makes_states = true}, true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  const LoadedCheckpoint found =
      FindLoadedCheckpoint(run.store, run.store.heaps[0], analysis.timeline, analysis.categories);
  EXPECT_EQ(found.weight_rows, run.copies);
  EXPECT_TRUE(found.state_rows.empty());
}

TEST(LoadedCheckpoint, ItsCopyOfTheWeightsIsSaid) {
  const Resumed run = Resume({}, true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  const std::vector<Finding> findings = ReportLoadedCopy(analysis);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarning);
  EXPECT_EQ(findings[0].bytes, kWeightBytes);
  EXPECT_NE(findings[0].text.find("loaded at <module> (train.py:9)"), std::string::npos) << findings[0].text;
}

// Averages of the weights are made by the program and in use.
TEST(LoadedCheckpoint, WhatTheProgramMakesItselfIsNone) {
  const Resumed run = Resume({.states = 0, .makes_states = true, .is_in_program = true}, true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  EXPECT_TRUE(ReportLoadedCopy(analysis).empty());
}

}  // namespace
}  // namespace memstrata
