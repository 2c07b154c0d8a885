#include "analysis/category/trained_parameters.h"

#include <gtest/gtest.h>

#include "analysis/heap_analysis.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kFrozen[] = {6 << 20, 2 << 20};
constexpr uint64_t kAdapters[] = {32'768, 8'192};

// A frozen model; a line of the program casts its adapters, which alone are trained.
TEST(TrainedParameters, AreBlocksOfTheProgramThatGetGradients) {
  TestProgram program;
  for (const uint64_t size : kFrozen)
    program.Alloc(size, {"<module>@train.py:8", "_apply@torch/nn/modules/module.py:900"});
  std::vector<uint32_t> adapters;
  for (const uint64_t size : kAdapters) adapters.push_back(program.Alloc(size, {"<module>@train.py:9"}));
  const uint32_t later = program.Alloc(kAdapters[0], {"<module>@train.py:10"});
  const uint32_t other = program.Alloc(5'000, {"<module>@train.py:10"});
  uint32_t old_batch = kNone;
  for (int step = 0; step < 3; ++step) {
    const uint32_t batch = program.Alloc(7'000, {"<module>@train.py:11", "batch@train.py:2"});
    if (old_batch != kNone) program.Free(old_batch, {"<module>@train.py:11"});
    old_batch = batch;
    const uint32_t kept =
        program.Alloc(9 << 20, {"<module>@train.py:12", "_call_impl@torch/nn/modules/module.py:1700"});
    const uint32_t root = program.Alloc(4, {"<module>@train.py:13", "_make_grads@torch/autograd/__init__.py:220"});
    std::vector<uint32_t> gradients;
    for (const uint64_t size : kAdapters) gradients.push_back(program.Alloc(size, {}));
    program.Free(kept, {});
    program.Free(root, {"<module>@train.py:13", "backward@torch/_tensor.py:500"});
    for (const uint64_t size : kAdapters) {
      if (step == 0)
        program.Alloc(size, {"<module>@train.py:16", "step@torch/optim/sgd.py:20", "_init_group@torch/optim/sgd.py:1"});
    }
    for (const uint32_t row : gradients)
      program.Free(row, {"<module>@train.py:17", "zero_grad@torch/optim/optimizer.py:900"});
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const uint32_t row : adapters) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
  EXPECT_EQ(analysis.CategoryOf(later), Category::kUnknown);  // one more than gradients
  EXPECT_EQ(analysis.CategoryOf(other), Category::kUnknown);
}

}  // namespace
}  // namespace memstrata
