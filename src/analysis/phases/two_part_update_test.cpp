#include <gtest/gtest.h>

#include "analysis/heap_analysis.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kWeights[] = {3 << 20, 5 << 20, 7 << 20, 11 << 20};
constexpr int kUpdates = 5;

/// Sharpness-aware minimisation: the first half of an update copies each weight and goes to a worse point, the second
/// half puts the copies in the place of the weights and lets another optimizer go on from there.
class TwoPartUpdate : public testing::Test {
 protected:
  TwoPartUpdate() {
    for (const uint64_t size : kWeights)
      weights_.push_back(program_.Alloc(size, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"}));
    for (int update = 0; update < kUpdates; ++update) {
      batches_.push_back(program_.Alloc(64 << 10, {"<module>@train.py:20"}));
      ForwardAndBackward();
      FirstHalf();
      ForwardAndBackward();
      SecondHalf(update == 0);
      program_.Free(batches_.back(), {"<module>@train.py:26"});
    }
    store_ = program_.Finish();
  }

  void ForwardAndBackward() {
    std::vector<uint32_t> kept;
    for (const uint64_t size : kWeights)
      kept.push_back(program_.Alloc(9 * size, {"<module>@train.py:22", "_call_impl@torch/nn/modules/module.py:1700"}));
    const uint32_t root = program_.Alloc(
        4, {"<module>@train.py:23", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    for (size_t layer = std::size(kWeights); layer-- > 0; kept.pop_back()) {
      gradients_.push_back(program_.Alloc(kWeights[layer], {}));
      program_.Free(kept.back(), {});
    }
    program_.Free(root, {"<module>@train.py:23", "backward@torch/_tensor.py:500"});
  }

  void FirstHalf() {
    norms_.push_back(program_.Alloc(512, {"<module>@train.py:24", "first_step@sam.py:9"}));
    for (const uint64_t size : kWeights)
      copies_.push_back(program_.Alloc(size, {"<module>@train.py:24", "first_step@sam.py:12"}));
    program_.Free(norms_.back(), {"<module>@train.py:24", "first_step@sam.py:13"});
    DropGradients({"<module>@train.py:24", "first_step@sam.py:14", "zero_grad@torch/optim/optimizer.py:900"});
  }

  void SecondHalf(bool makes_states) {
    for (size_t layer = 0; layer < std::size(kWeights); ++layer) {
      const uint32_t replaced = weights_[weights_.size() - std::size(kWeights)];
      program_.Free(replaced, {"<module>@train.py:25", "second_step@sam.py:17"});
      weights_.push_back(copies_[copies_.size() - std::size(kWeights) + layer]);
    }
    for (const uint64_t size : kWeights) {
      if (makes_states)
        states_.push_back(program_.Alloc(size, {"<module>@train.py:25", "second_step@sam.py:18",
                                                "step@torch/optim/sgd.py:20", "_init_group@torch/optim/sgd.py:9"}));
    }
    DropGradients({"<module>@train.py:25", "second_step@sam.py:19", "zero_grad@torch/optim/optimizer.py:900"});
  }

  void DropGradients(TestProgram::Frames frames) {
    for (; !gradients_.empty(); gradients_.pop_back()) program_.Free(gradients_.back(), frames);
  }

  TestProgram program_;
  Store store_;
  std::vector<uint32_t> weights_;  // all that were one at some time, the present ones last
  std::vector<uint32_t> batches_;
  std::vector<uint32_t> norms_;
  std::vector<uint32_t> copies_;
  std::vector<uint32_t> states_;
  std::vector<uint32_t> gradients_;
};

TEST_F(TwoPartUpdate, IsOneStep) {
  const HeapAnalysis analysis = AnalyseHeap(store_, store_.heaps[0]);
  ASSERT_EQ(analysis.timeline.steps.size(), kUpdates);
  for (size_t i = 0; i < kUpdates; ++i)
    EXPECT_EQ(analysis.timeline.steps[i].begin_seq, store_.allocations.alloc_seq[batches_[i]]) << i;
}

TEST_F(TwoPartUpdate, IsOfTheOptimizerInBothHalves) {
  const HeapAnalysis analysis = AnalyseHeap(store_, store_.heaps[0]);
  for (const uint32_t row : norms_)
    EXPECT_EQ(analysis.timeline.phase_of_event[store_.allocations.alloc_seq[row]], Phase::kOptimizer) << row;
}

TEST_F(TwoPartUpdate, CopiesThatReplaceWeightsAreParameters) {
  const HeapAnalysis analysis = AnalyseHeap(store_, store_.heaps[0]);
  for (const uint32_t row : copies_) EXPECT_EQ(analysis.CategoryOf(row), Category::kParameter) << row;
  for (const uint32_t row : states_) EXPECT_EQ(analysis.CategoryOf(row), Category::kOptimizerState) << row;
}

}  // namespace
}  // namespace memstrata
