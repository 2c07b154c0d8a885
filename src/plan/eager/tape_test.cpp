#include "plan/eager/tape.h"

#include <gtest/gtest.h>

#include "plan/eager/ops.h"

namespace memstrata::plan::eager {
namespace {

class TapeTest : public testing::Test {
 protected:
  TapeTest() : device_(std::nullopt), tape_(device_, {.workspace_bytes = 0}) {}

  uint64_t Live(Category category) const { return device_.LiveBytes()[static_cast<size_t>(category)]; }
  Parameter MakeParameter(Shape shape) {
    Parameter parameter;
    parameter.value = tape_.Empty(std::move(shape), DType::kFloat32, Category::kParameter);
    parameter.value.requires_grad = true;
    return parameter;
  }

  Device device_;
  Tape tape_;
};

TEST_F(TapeTest, ALinearLayerSavesItsInputAndGivesAGradientOfTheWeight) {
  Parameter weight = MakeParameter({8, 4});
  weight.value.parameter = &weight;
  device_.Enter(Phase::kForward, 1);
  Tensor output;
  {
    const Tensor x = tape_.Empty({16, 4}, DType::kFloat32);
    output = Linear(tape_, x, weight, nullptr);
  }
  // The input (16 x 4 x 4 B) is kept for the weight's gradient, the output (16 x 8 x 4 B) by the caller.
  EXPECT_EQ(Live(Category::kForwardTemporary), 256u + 512u);
  device_.Enter(Phase::kBackward, 1);
  const Tensor gradient = tape_.Empty({16, 8}, DType::kFloat32);
  tape_.RunBackward(output, gradient);
  EXPECT_EQ(Live(Category::kForwardTemporary), 512u);
  EXPECT_EQ(Live(Category::kGradient), 128u);
  EXPECT_EQ(weight.grad.shape, weight.value.shape);
}

TEST_F(TapeTest, NothingIsSavedWithoutGradients) {
  Parameter weight = MakeParameter({8, 4});
  weight.value.parameter = &weight;
  device_.Enter(Phase::kForward, 1);
  tape_.set_grad_enabled(false);
  Tensor output;
  {
    const Tensor x = tape_.Empty({16, 4}, DType::kFloat32);
    output = Linear(tape_, x, weight, nullptr);
  }
  EXPECT_EQ(Live(Category::kForwardTemporary), 512u);
}

TEST_F(TapeTest, AutocastCastsAWeightOnceAndKeepsTheCopyUntilItEnds) {
  Parameter weight = MakeParameter({4, 4});
  weight.value.parameter = &weight;
  tape_.BeginAutocast(DType::kBfloat16);
  tape_.ToLowPrecision(weight.value);
  tape_.ToLowPrecision(weight.value);
  EXPECT_EQ(Live(Category::kAutocastCopy), 32u);
  tape_.EndAutocast();
  EXPECT_EQ(Live(Category::kAutocastCopy), 0u);
}

TEST_F(TapeTest, ACheckpointedCallKeepsOnlyItsInputUntilTheBackward) {
  Parameter weight = MakeParameter({4, 4});
  weight.value.parameter = &weight;
  device_.Enter(Phase::kForward, 1);
  Tensor output;
  {
    const Tensor x = tape_.Empty({16, 4}, DType::kFloat32);
    const auto two_layers = [x, &weight](Tape& tape) {
      const Tensor inner = ActivationSavingInput(tape, Linear(tape, x, weight, nullptr));
      return Linear(tape, inner, weight, nullptr);
    };
    output = tape_.Checkpoint(two_layers);
  }
  EXPECT_EQ(Live(Category::kForwardTemporary), 2 * 256u);  // input and output, not the two tensors in between
  device_.Enter(Phase::kBackward, 1);
  tape_.RunBackward(output, tape_.Empty({16, 4}, DType::kFloat32));
  EXPECT_EQ(Live(Category::kGradient), 64u);
  output = Tensor{};
  EXPECT_EQ(Live(Category::kForwardTemporary), 0u);
  EXPECT_EQ(Live(Category::kBackwardTemporary), 0u);
}

TEST_F(TapeTest, GradientsOfASharedInputAreAddedInPlace) {
  Parameter weight = MakeParameter({4, 4});
  weight.value.parameter = &weight;
  device_.Enter(Phase::kForward, 1);
  const Tensor x = tape_.Empty({16, 4}, DType::kFloat32);
  const Tensor hidden = Linear(tape_, x, weight, nullptr);
  const Tensor sum = Add(tape_, ActivationSavingInput(tape_, hidden), ActivationSavingResult(tape_, hidden));
  device_.Enter(Phase::kBackward, 1);
  const uint64_t before = device_.allocated_bytes();
  tape_.RunBackward(sum, tape_.Empty({16, 4}, DType::kFloat32));
  // At most the given gradient and the two of the activations at once; then the weight's gradient.
  EXPECT_LE(*device_.PhasePeak(Phase::kBackward, 1), before + 3 * 512u + 512u);
}

}  // namespace
}  // namespace memstrata::plan::eager
