// Metrics of a training loop and its validation: they are no part of the loss, and start no backward.

#include <gtest/gtest.h>

#include "analysis/phases/backward_passes.h"
#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

/// What comes between a loss and zero_grad in the second step of a training.
struct BetweenLossAndZeroGrad {
  Phase loss = Phase::kLoss;     // of the rest of the loss
  Phase metric = Phase::kOther;  // of the first block of the metric behind it
};

// loss = criterion(model(x), y); the rest of the loss on `line`; accuracy(output, y); zero_grad(); loss.backward();
// step()
BetweenLossAndZeroGrad FindPhases(std::string_view line, bool backward_gives_back) {
  constexpr uint64_t kGradientBytes = 1 << 20;
  TestProgram program;
  std::vector<uint32_t> gradients;
  uint32_t loss_seq = 0;
  uint32_t metric_seq = 0;
  for (int step = 0; step < 3; ++step) {
    std::vector<uint32_t> kept;
    for (int layer = 0; layer < 3; ++layer) {
      kept.push_back(program.Alloc(2 << 20, {"<module>@train.py:90", "train@train.py:22",
                                             "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
    }
    kept.push_back(program.Alloc(
        8 << 20, {"<module>@train.py:90", "train@train.py:22", "cross_entropy@torch/nn/functional.py:3000"}));
    if (step == 1) loss_seq = program.event_count();
    const uint32_t rest = program.Alloc(4096, {"<module>@train.py:90", line});
    if (backward_gives_back) kept.push_back(rest);
    if (!backward_gives_back) program.Free(rest, {"<module>@train.py:90", line});
    if (step == 1) metric_seq = program.event_count();
    const uint32_t best = program.Alloc(800, {"<module>@train.py:90", "train@train.py:24", "accuracy@train.py:5"});
    program.Alloc(4, {"<module>@train.py:90", "train@train.py:24", "accuracy@train.py:6"});
    program.Free(best, {"<module>@train.py:90", "train@train.py:24", "accuracy@train.py:7"});
    for (const uint32_t gradient : gradients)
      program.Free(gradient, {"<module>@train.py:90", "train@train.py:25", "zero_grad@torch/optim/optimizer.py:900"});
    gradients.clear();
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:90", "train@train.py:26", "_make_grads@torch/autograd/__init__.py:220"});
    for (; !kept.empty(); kept.pop_back()) {
      gradients.push_back(program.Alloc(kGradientBytes, {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {});
    program.Free(program.Alloc(kGradientBytes, {"<module>@train.py:90", "train@train.py:27",
                                                "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/sgd.py:2"}),
                 {"<module>@train.py:90", "train@train.py:27", "wrapper@torch/optim/optimizer.py:480"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  return {timeline.phase_of_event[loss_seq], timeline.phase_of_event[metric_seq]};
}

TEST(Metrics, BetweenTheLossAndZeroGradAreNoLoss) {
  const BetweenLossAndZeroGrad saved = FindPhases("train@train.py:23", true);
  EXPECT_EQ(saved.loss, Phase::kLoss);
  EXPECT_EQ(saved.metric, Phase::kOther);
  const BetweenLossAndZeroGrad on_line_of_loss = FindPhases("train@train.py:22", false);
  EXPECT_EQ(on_line_of_loss.loss, Phase::kLoss);
  EXPECT_EQ(on_line_of_loss.metric, Phase::kOther);
  EXPECT_EQ(FindPhases("train@train.py:23", false).loss, Phase::kOther);  // a metric, too
}

/// Epochs of a training that drops gradients between the loss and the backward, with a validation after each.
class ValidatedTraining {
 public:
  static constexpr int kEpochs = 3;
  static constexpr int kStepsOfEpoch = 6;

  ValidatedTraining() {
    for (int layer = 0; layer < kLayers; ++layer) program_.Alloc(WeightBytes(layer), {});
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int step = 0; step < kStepsOfEpoch; ++step) Step();
      Validate();
    }
  }

  Store Finish() { return program_.Finish(); }

 private:
  static constexpr int kLayers = 12;
  static constexpr uint64_t kInputBytes = 3'000'000;

  static uint64_t WeightBytes(int layer) { return 1'000'000 + 4096 * static_cast<uint64_t>(layer); }
  static uint64_t OutputBytes(int layer) { return 9'000'000 - 500'000 * static_cast<uint64_t>(layer); }

  void Step() {
    const uint32_t input = program_.Alloc(kInputBytes, {});
    std::vector<uint32_t> kept;
    for (int layer = 0; layer < kLayers; ++layer) kept.push_back(program_.Alloc(OutputBytes(layer), {}));
    const uint32_t loss = program_.Alloc(4, {});
    for (const uint32_t gradient : gradients_) program_.Free(gradient, {});
    gradients_.clear();
    const uint32_t root = program_.Alloc(4, {});
    for (int layer = kLayers; layer-- > 0;) {
      program_.Free(program_.Alloc(OutputBytes(layer), {}), {});
      gradients_.push_back(program_.Alloc(WeightBytes(layer), {}));
      program_.Free(kept[static_cast<size_t>(layer)], {});
    }
    program_.Free(root, {});
    for (int layer = 0; layer < kLayers; ++layer) program_.Free(program_.Alloc(WeightBytes(layer), {}), {});
    program_.Free(loss, {});
    program_.Free(input, {});
  }

  void Validate() {
    constexpr int kBatches = 4;
    uint32_t last_value = kNone;
    for (int batch = 0; batch < kBatches; ++batch) {
      const uint32_t input = program_.Alloc(kInputBytes, {});
      uint32_t output = program_.Alloc(OutputBytes(0), {});
      for (int layer = 1; layer < kLayers; ++layer) {
        const uint32_t next = program_.Alloc(OutputBytes(layer), {});
        program_.Free(program_.Alloc(OutputBytes(layer), {}), {});
        program_.Free(output, {});
        output = next;
      }
      const uint32_t indices = program_.Alloc(800, {});
      const uint32_t is_right = program_.Alloc(100, {});
      const uint32_t value = program_.Alloc(4, {});  // until the next batch has its own
      program_.Free(is_right, {});
      program_.Free(program_.Alloc(400, {}), {});
      program_.Free(indices, {});
      program_.Free(program_.Alloc(400, {}), {});
      program_.Free(output, {});
      program_.Free(program_.Alloc(8, {}), {});
      program_.Free(input, {});
      if (last_value != kNone) program_.Free(last_value, {});
      last_value = value;
    }
    program_.Free(last_value, {});
  }

  TestProgram program_{false};
  std::vector<uint32_t> gradients_;
};

TEST(Metrics, OfAValidationStartNoBackward) {
  ValidatedTraining training;
  const Store store = training.Finish();
  const OrderEvents events = CollectOrderEvents(store, store.heaps[0]);
  constexpr size_t kSteps = ValidatedTraining::kEpochs * ValidatedTraining::kStepsOfEpoch;
  EXPECT_EQ(FindBackwardPasses(events, kNone).size(), kSteps);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), kSteps);
  EXPECT_FALSE(timeline.Has(Phase::kRecompute));
  EXPECT_TRUE(timeline.Has(Phase::kEval));
}

}  // namespace
}  // namespace memstrata
