#include "analysis/category/trained_parameters.h"

#include <gtest/gtest.h>

#include "analysis/category/test_sgd.h"
#include "analysis/heap_analysis.h"

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
  SgdTraining training(program, {std::begin(kAdapters), std::end(kAdapters)});
  for (int step = 0; step < 3; ++step) training.Step(step == 0);
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const uint32_t row : adapters) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
  EXPECT_EQ(analysis.CategoryOf(later), Category::kUnknown);  // one more than gradients
  EXPECT_EQ(analysis.CategoryOf(other), Category::kUnknown);
}

}  // namespace
}  // namespace memstrata
