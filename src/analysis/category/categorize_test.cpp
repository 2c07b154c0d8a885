#include "analysis/category/categorize.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/bands/bands.h"
#include "analysis/heap_analysis.h"
#include "analysis/test_program.h"
#include "analysis/test_update_in_backward.h"

namespace memstrata {
namespace {

TEST(Categorize, EveryBlockOfATrainingHasItsPurpose) {
  const Store store = MakeTraining(2);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  std::map<Category, int> counts;
  for (const Category category : analysis.categories) ++counts[category];
  EXPECT_EQ(counts[Category::kParameter], 4);
  EXPECT_EQ(counts[Category::kOptimizerState], 8);
  EXPECT_EQ(counts[Category::kGradient], 2 * 4);
  EXPECT_EQ(counts[Category::kActivation], 2 * 4);
  EXPECT_EQ(counts[Category::kLogits], 2 * 2);  // of the loss and of its backward
  EXPECT_EQ(counts[Category::kInput], 2);
  EXPECT_EQ(counts[Category::kTemporary], 2 * (1 + 4));
  EXPECT_EQ(counts[Category::kUnknown], 0);
}

TEST(Categorize, TheSameWithoutStacks) {
  const Store store = MakeTraining(3, 0, false);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  std::map<Category, int> counts;
  for (const Category category : analysis.categories) ++counts[category];
  EXPECT_EQ(counts[Category::kParameter], 4);
  EXPECT_EQ(counts[Category::kOptimizerState], 8);
  EXPECT_EQ(counts[Category::kGradient], 3 * 4);
  EXPECT_EQ(counts[Category::kActivation], 3 * 4);
  EXPECT_EQ(counts[Category::kLogits], 3 * 2);  // of the loss and of its backward
  EXPECT_EQ(counts[Category::kInput], 3);
  EXPECT_EQ(counts[Category::kUnknown], 0);
}

// FSDP makes the shards and moves them between cards; the stacks of both lie in its own code.
TEST(Categorize, ShardsAreParametersAndGradients) {
  TestProgram program;
  constexpr uint64_t kShardBytes = 3 << 20;
  const uint32_t shard =
      program.Alloc(kShardBytes, {"<module>@train.py:3", "__init__@torch/distributed/fsdp/_future.py:99",
                                  "shard_it@torch/distributed/fsdp/_future.py:131"});
  std::vector<uint32_t> moved;
  std::vector<uint32_t> gradients;
  for (int step = 0; step < 3; ++step) {
    moved.push_back(program.Alloc(8 * kShardBytes, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1",
                                                    "gather@torch/distributed/fsdp/_future.py:162"}));
    program.Free(moved.back(), {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1",
                                "gather@torch/distributed/fsdp/_future.py:170"});
    program.Free(program.Alloc(9 << 20, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1"}),
                 {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1"});
    const uint32_t root = program.Alloc(4, {"<module>@train.py:10", "_make_grads@torch/autograd/__init__.py:2"});
    program.Free(program.Alloc(9 << 20, {}), {});
    moved.push_back(program.Alloc(8 * kShardBytes, {"hook@torch/distributed/fsdp/_future.py:391"}));
    gradients.push_back(program.Alloc(kShardBytes, {"hook@torch/distributed/fsdp/_future.py:403"}));
    program.Free(moved.back(), {"hook@torch/distributed/fsdp/_future.py:410"});
    program.Free(root, {"<module>@train.py:10", "backward@torch/autograd/__init__.py:9"});
    program.Free(gradients.back(), {"<module>@train.py:11", "zero_grad@torch/optim/optimizer.py:900"});
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(shard), Category::kParameter);
  for (const uint32_t row : moved) EXPECT_EQ(analysis.CategoryOf(row), Category::kCommunication) << row;
  for (const uint32_t row : gradients) EXPECT_EQ(analysis.CategoryOf(row), Category::kGradient) << row;
}

// Adagrad makes its states before the first step.
// A program's own version of the cache of a library goes by its name.
TEST(Categorize, ACacheOfAProgramGoesByItsFile) {
  TestProgram program;
  std::vector<uint32_t> cache;
  for (int token = 0; token < 4; ++token) {
    cache.push_back(program.Alloc(
        1 << 20, {"<module>@chat.py:9", "_call_impl@torch/nn/modules/module.py:1", "forward@my_llama.py:482",
                  "update@src/cache_utils_compressed.py:70", "quantize@src/quantize.py:14"}));
    program.Free(program.Alloc(4 << 20, {"<module>@chat.py:9", "_call_impl@torch/nn/modules/module.py:1",
                                         "forward@my_llama.py:490"}),
                 {});
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const uint32_t row : cache) EXPECT_EQ(analysis.CategoryOf(row), Category::kKvCache) << row;
}

TEST(Categorize, WhatIsLoadedTwiceAreStates) {
  TestProgram program(false);
  constexpr uint64_t kWeights[] = {3 << 20, 5 << 20, 3 << 19, 5 << 19};
  std::vector<uint32_t> states;
  for (const uint64_t size : kWeights) program.Alloc(size, {});
  for (const uint64_t size : kWeights) states.push_back(program.Alloc(size, {}));
  for (int step = 0; step < 2; ++step) {
    std::vector<uint32_t> kept;
    for (const uint64_t size : kWeights) kept.push_back(program.Alloc(size * 9, {}));
    const uint32_t root = program.Alloc(4, {});
    std::vector<uint32_t> gradients;
    for (size_t layer = std::size(kWeights); layer-- > 0; kept.pop_back()) {
      gradients.push_back(program.Alloc(kWeights[layer], {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {});
    for (const uint32_t gradient : gradients) program.Free(gradient, {});
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (uint32_t row = 0; row < std::size(kWeights); ++row)
    EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
  for (const uint32_t row : states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
}

TEST(Categorize, WhatAFailureTakesDownKeepsItsPurpose) {
  TestProgram program;
  std::vector<uint32_t> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(program.Alloc(1 << 20, {"<module>@train.py:9", "train@train.py:2",
                                             "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
  }
  program.Fail(64 << 20, {"<module>@train.py:9", "train@train.py:2", "_call_impl@torch/nn/modules/module.py:1700",
                          "forward@model.py:9"});
  for (const uint32_t block : blocks) program.Free(block, {"<module>@train.py:9", "train@train.py:2"});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const Category category : analysis.categories) EXPECT_EQ(category, Category::kActivation);
}

// The exception leaves the function that holds the optimizer before the recording ends.
TEST(Categorize, StatesThatAFailureTakesDownAreStates) {
  const Store store = MakeTraining(3, 0, true, Ending::kFails);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  int states = 0;
  for (const Category category : analysis.categories) states += category == Category::kOptimizerState ? 1 : 0;
  EXPECT_EQ(states, 8);
}

// 32 MiB is also the size of a weight.
TEST(Categorize, ManyBlocksOfTheSizeOfAWorkspaceAreNone) {
  for (const int count : {2, 40}) {
    TestProgram program(false);
    for (int i = 0; i < count; ++i) program.Alloc(33'554'432, {});
    const Store store = program.Finish();
    const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
    EXPECT_EQ(analysis.CategoryOf(0) == Category::kWorkspace, count == 2);
  }
}

TEST(Categorize, AWeightOfTheSizeOfAWorkspaceIsAWeight) {
  TestProgram program;
  const uint32_t weight = program.Alloc(33'554'432, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
  const uint32_t workspace = program.Alloc(
      33'554'432,
      {"<module>@train.py:10", "_call_impl@torch/nn/modules/module.py:1700", "forward@torch/nn/modules/linear.py:125"});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(weight), Category::kParameter);
  EXPECT_EQ(analysis.CategoryOf(workspace), Category::kWorkspace);
}

// An 8192 x 1024 layer: nothing gives back the gradient of the last step.
TEST(Categorize, AGradientOfTheSizeOfAWorkspaceIsAGradient) {
  TestProgram program;
  uint32_t gradient = kNone;
  for (int step = 0; step < 3; ++step) {
    if (gradient != kNone) program.Free(gradient, {"<module>@train.py:1", "zero_grad@torch/optim/optimizer.py:900"});
    const uint32_t kept = program.Alloc(4 << 20, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
    const uint32_t root = program.Alloc(
        4, {"<module>@train.py:3", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    gradient = program.Alloc(33'554'432, {});
    program.Free(kept, {});
    program.Free(root, {});
  }
  const Store store = program.Finish();
  EXPECT_EQ(AnalyseHeap(store, store.heaps[0]).CategoryOf(gradient), Category::kGradient);
}

// A checkpointed function runs again on a thread of the engine, which keeps a workspace of its own.
TEST(Categorize, AWorkspaceThatARecomputationMakesIsNoGradient) {
  TestProgram program;
  program.Alloc(33'554'432, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
  const uint32_t kept = program.Alloc(4 << 20, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
  const uint32_t root = program.Alloc(
      4, {"<module>@train.py:3", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
  const uint32_t gradient = program.Alloc(1 << 20, {});
  const uint32_t workspace =
      program.Alloc(1 << 20, {"recompute_fn@torch/utils/checkpoint.py:1400",
                              "_call_impl@torch/nn/modules/module.py:1700", "forward@torch/nn/modules/linear.py:125"});
  program.Free(kept, {});
  program.Free(root, {});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(gradient), Category::kGradient);
  EXPECT_EQ(analysis.CategoryOf(workspace), Category::kWorkspace);
}

// What FSDP keeps of the model and of a backward are shards; what it gives back is for sending.
TEST(Categorize, ShardsOfFsdpAreParametersAndGradients) {
  TestProgram program;
  const uint32_t shard = program.Alloc(
      1 << 20, {"<module>@train.py:1", "fully_shard@torch/distributed/fsdp/_fully_shard/_fully_shard.py:9",
                "_init_sharded_param@torch/distributed/fsdp/_fully_shard/_fsdp_param.py:300"});
  const uint32_t gathered =
      program.Alloc(8 << 20, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700",
                              "foreach_all_gather@torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:100"});
  const uint32_t kept = program.Alloc(4 << 20, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
  program.Free(gathered, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
  const uint32_t root = program.Alloc(
      4, {"<module>@train.py:3", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
  const uint32_t gradient =
      program.Alloc(1 << 20, {"apply@torch/autograd/function.py:300",
                              "foreach_reduce@torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:300"});
  program.Free(kept, {});
  program.Free(root, {});
  program.Free(gradient, {"<module>@train.py:4", "zero_grad@torch/optim/optimizer.py:900"});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(shard), Category::kParameter);
  EXPECT_EQ(analysis.CategoryOf(gathered), Category::kCommunication);
  EXPECT_EQ(analysis.CategoryOf(gradient), Category::kGradient);
}

TEST(Categorize, AnUpdateInTheBackwardTakesItsGradients) {
  const UpdatesInBackward run = MakeUpdatesInBackward(true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  for (const uint32_t row : run.states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
  for (const uint32_t row : run.gradients) EXPECT_EQ(analysis.CategoryOf(row), Category::kGradient) << row;
  for (const uint32_t row : run.between) EXPECT_EQ(analysis.CategoryOf(row), Category::kTemporary) << row;
}

TEST(Categorize, StatesOfAnUpdateInTheBackwardWithoutStacks) {
  const UpdatesInBackward run = MakeUpdatesInBackward(false);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  for (const uint32_t row : run.states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
}

TEST(Bands, AddUpToThePeak) {
  const Store store = MakeTraining(3);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  uint64_t sum = 0;
  for (const Band& band : FindBands(analysis)) sum += band.at_peak_bytes;
  EXPECT_EQ(sum, analysis.peak.bytes);
}

}  // namespace
}  // namespace memstrata
