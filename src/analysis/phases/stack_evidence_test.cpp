#include "analysis/phases/stack_evidence.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr std::string_view kWrapper = "wrapper@torch/optim/optimizer.py:485";
constexpr std::string_view kModelCall = "_call_impl@torch/nn/modules/module.py:1700";

std::vector<std::optional<Phase>> PhasesOf(std::initializer_list<TestProgram::Frames> stacks) {
  TestProgram program;
  for (const TestProgram::Frames stack : stacks) program.Alloc(512, stack);
  const Store store = program.Finish();
  const StackEvidence evidence = FindStackEvidence(store);
  std::vector<std::optional<Phase>> phases;
  for (uint32_t seq = 0; seq < store.events.size(); ++seq)
    phases.push_back(evidence.phase[store.events.stack[seq].value]);
  return phases;
}

TEST(StackEvidence, AClosureIsCalledByTheStepOfAnyOptimizer) {
  for (const std::string_view step : {"step@torch/optim/adam.py:200", "step@sharpness.py:20"}) {
    const auto phases = PhasesOf({
        {"<module>@a.py:1", kWrapper, step, "closure@a.py:5", kModelCall},
        {"<module>@a.py:1", kWrapper, step, "decorate_context@torch/utils/_contextlib.py:116", "closure@a.py:6",
         "_make_grads@torch/autograd/__init__.py:2"},
        {"<module>@a.py:1", kWrapper, step, "closure@a.py:4", "zero_grad@torch/optim/optimizer.py:900"},
        {"<module>@a.py:1", kWrapper, "step@torch/optim/adam.py:240", "helper@b.py:3"},
        {"<module>@a.py:1", kWrapper, step, "closure@a.py:5", "cross_entropy@torch/nn/functional.py:3"},
        {"<module>@a.py:1", kWrapper, step, "closure@a.py:5"},
    });
    EXPECT_EQ(phases[0], Phase::kForward) << step;
    EXPECT_EQ(phases[1], Phase::kBackward) << step;
    EXPECT_EQ(phases[2], Phase::kZeroGrad) << step;
    EXPECT_EQ(phases[3], Phase::kOptimizer) << step;
    EXPECT_EQ(phases[5], std::nullopt) << step;  // of the forward or of the loss
  }
}

TEST(StackEvidence, ALineSearchIsOfTheOptimizerAndItsClosureIsNot) {
  const auto phases = PhasesOf({
      {"<module>@a.py:1", kWrapper, "step@torch/optim/lbfgs.py:444", "_strong_wolfe@torch/optim/lbfgs.py:50"},
      {"<module>@a.py:1", kWrapper, "step@torch/optim/lbfgs.py:444", "_strong_wolfe@torch/optim/lbfgs.py:50",
       "closure@a.py:5", kModelCall},
  });
  EXPECT_EQ(phases[0], Phase::kOptimizer);
  EXPECT_EQ(phases[1], Phase::kForward);
}

// Without a model below it, what a step calls is the optimizer's own work.
TEST(StackEvidence, HelpersOfAnOptimizerAreTheOptimizer) {
  const auto phases = PhasesOf({{"<module>@a.py:1", kWrapper, "step@mine.py:20", "newton_schulz@mine.py:3"}});
  EXPECT_EQ(phases[0], Phase::kOptimizer);
}

// PyTorch joins frames of C++ and Python; some of Python's come to lie outside of the thread that runs them.
TEST(StackEvidence, FramesOfCppDoNotTurnABackwardIntoARecomputation) {
  constexpr std::string_view kApply = "apply@torch/autograd/function.py:307";
  constexpr std::string_view kCheckpoint = "backward@torch/utils/checkpoint.py:320";
  constexpr std::string_view kThread = "start_thread@nptl/pthread_create.c:442";
  constexpr std::string_view kEngine = "torch::autograd::Engine::thread_main(int)@??:0";
  constexpr std::string_view kNode = "torch::autograd::generated::AddmmBackward0::apply()@Functions.cpp:1";
  const auto phases = PhasesOf({
      {"<module>@a.py:1", kModelCall},
      {kApply, kCheckpoint, kThread, kEngine, "backward@torch/autograd/__init__.py:353",
       "_engine_run_backward@torch/autograd/graph.py:824", kEngine, kNode},
      {kThread, kEngine, kApply, "do_call_core@Python/ceval.c:1", kCheckpoint, "do_call_core@Python/ceval.c:1",
       kModelCall, kNode},
      {kThread, kEngine, kApply, kCheckpoint, "backward@torch/autograd/__init__.py:353", kEngine, kApply, kCheckpoint,
       kModelCall},
  });
  EXPECT_EQ(phases[1], Phase::kBackward);
  EXPECT_EQ(phases[2], Phase::kRecompute);
  EXPECT_EQ(phases[3], Phase::kRecompute);  // a checkpoint within another
}

}  // namespace
}  // namespace memstrata
