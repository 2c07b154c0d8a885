#include "analysis/layers/layers.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

TEST(RepeatedLayers, AreCountedWithWhatTheyKeep) {
  TestProgram program;
  std::vector<uint32_t> kept;
  for (int layer = 0; layer < 6; ++layer) {
    for (const std::string_view line : {"forward@block.py:10", "forward@block.py:11"}) {
      kept.push_back(program.Alloc(
          1 << 20, {"<module>@train.py:9", "train@train.py:2", "_call_impl@torch/nn/modules/module.py:1700",
                    "forward@model.py:71", "_call_impl@torch/nn/modules/module.py:1700", line}));
    }
  }
  const uint32_t root =
      program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
  for (; !kept.empty(); kept.pop_back()) program.Free(kept.back(), {});
  program.Free(root, {});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const std::vector<RepeatedLayer> layers = FindRepeatedLayers(analysis, 5);
  ASSERT_FALSE(layers.empty());
  EXPECT_EQ(layers[0].call_count, 6U);
  EXPECT_EQ(layers[0].kept_bytes, 12ULL << 20);
}

TEST(RepeatedLayers, NeedStacks) {
  const Store store = MakeTraining(2, 0, false);
  EXPECT_TRUE(FindRepeatedLayers(AnalyseHeap(store, store.heaps[0]), 5).empty());
}

}  // namespace
}  // namespace memstrata
