#include "analysis/category/master_weights.h"

#include <gtest/gtest.h>

#include "analysis/category/test_sgd.h"
#include "analysis/heap_analysis.h"

namespace memstrata {
namespace {

constexpr uint64_t kWeights[] = {6 << 20, 300'000, 1000, 900'000};  // of 16 bits

struct MixedPrecision {
  Store store;
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> masters;
  std::vector<uint32_t> states;
  std::vector<uint32_t> gradients;  // of the masters
  std::vector<uint32_t> square_roots;
};

// A line of the program for each part of the step; the update has temporaries as large as the masters.
MixedPrecision MakeMixedPrecision(bool keeps_stacks) {
  MixedPrecision result;
  TestProgram program(keeps_stacks);
  for (const uint64_t size : kWeights)
    result.parameters.push_back(program.Alloc(size, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"}));
  for (const uint64_t size : kWeights) result.masters.push_back(program.Alloc(2 * size, {"<module>@train.py:10"}));
  for (int step = 0; step < 3; ++step) {
    std::vector<uint32_t> kept;
    for (const uint64_t size : kWeights)
      kept.push_back(program.Alloc(9 * size, {"<module>@train.py:12", "_call_impl@torch/nn/modules/module.py:1700"}));
    const uint32_t root = program.Alloc(
        4, {"<module>@train.py:13", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    std::vector<uint32_t> low;
    for (size_t layer = std::size(kWeights); layer-- > 0; kept.pop_back()) {
      low.push_back(program.Alloc(kWeights[layer], {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {"<module>@train.py:13", "backward@torch/_tensor.py:500"});
    std::vector<uint32_t> gradients;
    for (const uint64_t size : kWeights) gradients.push_back(program.Alloc(2 * size, {"<module>@train.py:15"}));
    if (step == 0) {
      for (const uint64_t size : kWeights)
        result.states.push_back(program.Alloc(2 * size, {"<module>@train.py:16", "step@torch/optim/adamw.py:20",
                                                         "_init_group@torch/optim/adamw.py:150"}));
    }
    std::vector<uint32_t> roots;
    for (const uint64_t size : kWeights)
      roots.push_back(program.Alloc(2 * size, {"<module>@train.py:16", "step@torch/optim/adamw.py:20",
                                               "_multi_tensor_adamw@torch/optim/adamw.py:500"}));
    for (const uint32_t row : roots)
      program.Free(row, {"<module>@train.py:16", "step@torch/optim/adamw.py:20",
                         "_multi_tensor_adamw@torch/optim/adamw.py:500"});
    for (const uint32_t row : gradients)
      program.Free(row, {"<module>@train.py:17", "zero_grad@torch/optim/optimizer.py:900"});
    for (const uint32_t row : low)
      program.Free(row, {"<module>@train.py:18", "zero_grad@torch/nn/modules/module.py:2700"});
    result.gradients.insert(result.gradients.end(), gradients.begin(), gradients.end());
    result.square_roots.insert(result.square_roots.end(), roots.begin(), roots.end());
  }
  result.store = program.Finish();
  return result;
}

TEST(MasterWeights, AreParametersAndHaveGradients) {
  for (const bool keeps_stacks : {true, false}) {
    SCOPED_TRACE(keeps_stacks);
    const MixedPrecision run = MakeMixedPrecision(keeps_stacks);
    const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
    for (const uint32_t row : run.parameters) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
    for (const uint32_t row : run.masters) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
    for (const uint32_t row : run.states) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
    for (const uint32_t row : run.gradients) EXPECT_EQ(analysis.CategoryOf(row), Category::kGradient) << row;
    for (const uint32_t row : run.square_roots) EXPECT_EQ(analysis.CategoryOf(row), Category::kTemporary) << row;
  }
}

// Averages of weights are as large as the weights; they are no masters.
TEST(MasterWeights, CopiesOfTheSameSizeAreNone) {
  TestProgram program;
  for (const uint64_t size : kWeights)
    program.Alloc(size, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
  std::vector<uint32_t> averages;
  for (const uint64_t size : kWeights) averages.push_back(program.Alloc(size, {"<module>@train.py:10"}));
  SgdTraining training(program, {std::begin(kWeights), std::end(kWeights)});
  for (int step = 0; step < 2; ++step) training.Step(step == 0);
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const uint32_t row : averages) EXPECT_NE(analysis.CategoryOf(row), Category::kParameter) << row;
}

}  // namespace
}  // namespace memstrata
