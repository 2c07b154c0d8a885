#include "analysis/phases/batch_inputs.h"

#include <gtest/gtest.h>

#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

/// A training loop without call stacks, step by step.
class Training {
 public:
  static constexpr uint64_t kBatchBytes = 7168;

  Training() {
    for (int i = 0; i < kLayers; ++i) program_.Alloc(kWeightBytes, {});
  }

  uint32_t event_count() const { return program_.event_count(); }

  /// A batch replaces the one before. `is_converted`: it is made from another block, which is given back.
  void Load(bool is_converted) {
    const uint32_t source = is_converted ? program_.Alloc(2 * kBatchBytes, {}) : kNone;
    const uint32_t batch = program_.Alloc(kBatchBytes, {});
    if (source != kNone) program_.Free(source, {});
    if (batch_ != kNone) program_.Free(batch_, {});
    batch_ = batch;
  }

  void DropGradients() {
    for (const uint32_t gradient : gradients_) program_.Free(gradient, {});
    gradients_.clear();
  }

  void Forward() {
    for (int i = 0; i < kLayers; ++i) {
      program_.Free(program_.Alloc(5 << 20, {}), {});
      kept_.push_back(program_.Alloc(4 << 20, {}));
    }
  }

  /// Unwinds so many layers of the forward.
  void Backward(size_t layer_count) {
    const uint32_t root = program_.Alloc(4, {});
    for (; layer_count > 0; --layer_count) {
      program_.Free(program_.Alloc(6 << 20, {}), {});
      gradients_.push_back(program_.Alloc(kWeightBytes, {}));
      program_.Free(kept_.back(), {});
      kept_.pop_back();
    }
    program_.Free(root, {});
  }

  void Update() {
    for (int i = 0; i < kLayers; ++i) program_.Free(program_.Alloc(kWeightBytes, {}), {});
  }

  Store Finish() { return program_.Finish(); }

  static constexpr int kLayers = 48;  // so many gradients that a batch lies far from the forward behind them

 private:
  static constexpr uint64_t kWeightBytes = 1 << 20;

  TestProgram program_{false};
  std::vector<uint32_t> kept_;
  std::vector<uint32_t> gradients_;
  uint32_t batch_ = kNone;
};

// Of a training that does nothing else; each step begins with its batch.
void ExpectStepsBeginWithTheBatch(void (*step)(Training&)) {
  Training training;
  std::vector<uint32_t> begins;
  constexpr int kSteps = 5;
  for (int i = 0; i < kSteps; ++i) {
    begins.push_back(training.event_count());
    step(training);
  }
  const Store store = training.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), begins.size());
  for (size_t i = 0; i < begins.size(); ++i) {
    EXPECT_EQ(timeline.steps[i].begin_seq, begins[i]) << i;
    EXPECT_EQ(timeline.phase_of_event[begins[i]], Phase::kInput) << i;
  }
}

// for x in loader: x = x.cuda(); optimizer.zero_grad(); model(x)...
TEST(BatchInputs, ABatchThatComesBeforeTheGradientsAreDroppedIsOfTheirStep) {
  ExpectStepsBeginWithTheBatch([](Training& training) {
    training.Load(false);
    training.DropGradients();
    training.Forward();
    training.Backward(Training::kLayers);
    training.Update();
  });
}

TEST(BatchInputs, WhatABatchIsMadeOfIsAPartOfIt) {
  ExpectStepsBeginWithTheBatch([](Training& training) {
    training.Load(true);
    training.Forward();
    training.Backward(Training::kLayers);
    training.Update();
    training.DropGradients();
  });
}

// aux.backward(retain_graph=True); loss.backward()
TEST(BatchInputs, ABatchStaysThroughAllBackwardsOfItsGraph) {
  ExpectStepsBeginWithTheBatch([](Training& training) {
    training.Load(false);
    training.Forward();
    training.Backward(Training::kLayers / 2);
    training.Backward(Training::kLayers / 2);
    training.Update();
    training.DropGradients();
  });
}

}  // namespace
}  // namespace memstrata
