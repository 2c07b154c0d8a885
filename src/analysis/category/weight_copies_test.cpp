#include "analysis/category/weight_copies.h"

#include <gtest/gtest.h>

#include "analysis/heap_analysis.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kMiB = 1 << 20;

/// A forward under autocast: each of `weights` gets a copy of half its size and then makes an output of 3 MiB in the
/// same line. The region gives back all copies but the last, which goes in the backward.
struct Autocast {
  std::vector<uint32_t> copies;
  std::vector<uint32_t> outputs;
  Store store;
};

Autocast MakeAutocast(std::vector<uint64_t> weights, uint32_t activations_as_large_as_the_last_copy) {
  TestProgram program;
  Autocast made;
  for (const uint64_t bytes : weights)
    program.Alloc(bytes, {"<module>@train.py:8", "_apply@torch/nn/modules/module.py:900"});
  const auto forward = [&](uint64_t bytes) {
    return program.Alloc(bytes,
                         {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  };
  for (uint32_t i = 0; i < activations_as_large_as_the_last_copy; ++i)
    made.outputs.push_back(forward(weights.back() / 2));
  for (const uint64_t bytes : weights) {
    made.copies.push_back(forward(bytes / 2));
    made.outputs.push_back(forward(3 * kMiB));
  }
  for (size_t i = 0; i + 1 < made.copies.size(); ++i)
    program.Free(made.copies[i], {"<module>@train.py:9", "__exit__@torch/amp/autocast_mode.py:400"});
  const uint32_t root = program.Alloc(4, {"<module>@train.py:11", "_make_grads@torch/autograd/__init__.py:220"});
  program.Free(made.copies.back(), {});
  for (const uint64_t bytes : weights) program.Alloc(bytes, {});
  for (const uint32_t output : made.outputs) program.Free(output, {});
  program.Free(root, {});
  made.store = program.Finish();
  return made;
}

TEST(WeightCopies, TheOneThatTheBackwardNeedsIsOneToo) {
  const Autocast made = MakeAutocast({2 * kMiB, 2 * kMiB, 16 * kMiB}, 0);
  const HeapAnalysis analysis = AnalyseHeap(made.store, made.store.heaps[0]);
  for (const uint32_t row : made.copies) EXPECT_EQ(analysis.CategoryOf(row), Category::kAutocastCopy);
  for (const uint32_t row : made.outputs) EXPECT_EQ(analysis.CategoryOf(row), Category::kActivation);
}

// More blocks of the size than parameters: some are outputs, and which is not known.
TEST(WeightCopies, AreNotClaimedWhereOutputsAreAsLarge) {
  const Autocast made = MakeAutocast({2 * kMiB, 2 * kMiB, 16 * kMiB}, 3);
  const HeapAnalysis analysis = AnalyseHeap(made.store, made.store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(made.copies.front()), Category::kAutocastCopy);
  EXPECT_EQ(analysis.CategoryOf(made.copies.back()), Category::kActivation);
}

// All layers of a Sequential are called from one line, and their outputs are as large as the copies of their weights.
TEST(WeightCopies, AreTheBlocksBehindTheCopiesOfBiases) {
  constexpr int kLayers = 4;
  TestProgram program;
  for (int i = 0; i < kLayers; ++i) {
    for (const uint64_t bytes : {4 * kMiB, kMiB})
      program.Alloc(bytes, {"<module>@train.py:8", "_apply@torch/nn/modules/module.py:900"});
  }
  const auto forward = [&](uint64_t bytes) {
    return program.Alloc(bytes, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                 "forward@torch/nn/modules/linear.py:125"});
  };
  std::vector<uint32_t> weights;
  std::vector<uint32_t> biases;
  std::vector<uint32_t> outputs;
  for (int i = 0; i < kLayers; ++i) {
    biases.push_back(forward(kMiB / 2));
    weights.push_back(forward(2 * kMiB));
    outputs.push_back(forward(2 * kMiB));
  }
  for (const uint32_t row : biases)
    program.Free(row, {"<module>@train.py:9", "__exit__@torch/amp/autocast_mode.py:400"});
  const uint32_t root = program.Alloc(4, {"<module>@train.py:11", "_make_grads@torch/autograd/__init__.py:220"});
  for (int i = kLayers; i-- > 0;) {
    for (const uint64_t bytes : {4 * kMiB, kMiB}) program.Alloc(bytes, {});
    program.Free(outputs[i], {});
    program.Free(weights[i], {});
  }
  program.Free(root, {});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  for (const uint32_t row : weights) EXPECT_EQ(analysis.CategoryOf(row), Category::kAutocastCopy);
  for (const uint32_t row : outputs) EXPECT_EQ(analysis.CategoryOf(row), Category::kActivation);
}

// Without autocast a block of half a parameter's size is what it seems.
TEST(WeightCopies, AreNotClaimedWithoutAutocast) {
  const Autocast made = MakeAutocast({16 * kMiB}, 0);
  const HeapAnalysis analysis = AnalyseHeap(made.store, made.store.heaps[0]);
  EXPECT_EQ(analysis.CategoryOf(made.copies.back()), Category::kActivation);
}

}  // namespace
}  // namespace memstrata
