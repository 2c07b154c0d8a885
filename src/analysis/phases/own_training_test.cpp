// Trainings that do not look like the usual one: updates of the program's own, closures, backwards from a gradient, two
// loops.

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kParameterBytes = 1 << 20;
constexpr int kParameterCount = 4;

uint64_t CountEvents(const Timeline& timeline, Phase phase) {
  return static_cast<uint64_t>(std::count(timeline.phase_of_event.begin(), timeline.phase_of_event.end(), phase));
}

/// One step of a training from line `line` of the script.
class OwnTraining {
 public:
  TestProgram program;

  void Load() {
    for (int i = 0; i < kParameterCount; ++i)
      program.Alloc(kParameterBytes, {"<module>@train.py:1", "_apply@torch/nn/modules/module.py:900"});
  }

  void Forward(TestProgram::Frames frames) {
    for (int i = 0; i < kParameterCount; ++i) activations_.push_back(program.Alloc(3 << 20, frames));
  }

  // In the engine's thread; `root` are the frames of the gradient that starts it, if there is one.
  void Backward(TestProgram::Frames root_frames) {
    const uint32_t root = root_frames.size() == 0 ? kNone : program.Alloc(4, root_frames);
    for (int i = 0; i < kParameterCount; ++i) {
      gradients_.push_back(program.Alloc(kParameterBytes, {}));
      program.Free(activations_.back(), {});
      activations_.pop_back();
    }
    if (root != kNone) program.Free(root, {});
  }

  void Update(TestProgram::Frames frames, TestProgram::Frames frames_of_free) {
    std::vector<uint32_t> temporaries;
    for (int i = 0; i < kParameterCount; ++i) temporaries.push_back(program.Alloc(kParameterBytes, frames));
    for (const uint32_t block : temporaries) program.Free(block, frames);
    DropGradients(frames_of_free);
  }

  void DropGradients(TestProgram::Frames frames) {
    for (const uint32_t block : gradients_) program.Free(block, frames);
    gradients_.clear();
  }

 private:
  std::vector<uint32_t> activations_;
  std::vector<uint32_t> gradients_;
};

TEST(OwnTraining, AnUpdateOfTheProgramsOwnIsOne) {
  OwnTraining training;
  training.Load();
  for (int step = 0; step < 4; ++step) {
    training.Forward({"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward(
        {"<module>@train.py:3", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    training.Update({"<module>@train.py:4", "change@own.py:8"}, {"<module>@train.py:5", "clear@own.py:12"});
  }
  const Store store = training.program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.basis, PhaseBasis::kStack);
  EXPECT_EQ(timeline.steps.size(), 4U);
  EXPECT_EQ(CountEvents(timeline, Phase::kOptimizer), 4U * 3 * kParameterCount);
  EXPECT_EQ(CountEvents(timeline, Phase::kZeroGrad), 4U * 2 * kParameterCount);
}

TEST(OwnTraining, WorkBetweenStepsThatHasOtherSizesIsNoUpdate) {
  OwnTraining training;
  training.Load();
  for (int step = 0; step < 4; ++step) {
    training.Forward({"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward(
        {"<module>@train.py:3", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    for (int i = 0; i < 20; ++i) {
      const uint32_t block = training.program.Alloc(5 << 20, {"<module>@train.py:4", "log@own.py:8"});
      training.program.Free(block, {"<module>@train.py:4", "log@own.py:8"});
    }
  }
  const Store store = training.program.Finish();
  EXPECT_EQ(CountEvents(FindTimeline(store, store.heaps[0]), Phase::kOptimizer), 0U);
}

TEST(OwnTraining, AClosureInTheUpdateIsForwardAndBackward) {
  OwnTraining training;
  training.Load();
  for (int step = 0; step < 3; ++step) {
    training.Forward({"<module>@train.py:2", "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/adam.py:200",
                      "closure@train.py:20", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward({"<module>@train.py:2", "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/adam.py:200",
                       "closure@train.py:21", "backward@torch/_tensor.py:500",
                       "_make_grads@torch/autograd/__init__.py:220"});
    training.Update({"<module>@train.py:2", "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/adam.py:230"},
                    {"<module>@train.py:3", "zero_grad@torch/optim/optimizer.py:900"});
  }
  const Store store = training.program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), 3U);
  EXPECT_EQ(CountEvents(timeline, Phase::kForward), 3U * kParameterCount);
  EXPECT_EQ(CountEvents(timeline, Phase::kBackward), 3U * (3 * kParameterCount + 3));
  EXPECT_EQ(CountEvents(timeline, Phase::kOptimizer), 3U * 3 * kParameterCount);
}

TEST(OwnTraining, ABackwardMayStartWithAGradientOfTheProgram) {
  OwnTraining training;
  training.Load();
  for (int step = 0; step < 3; ++step) {
    training.Forward({"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward({});
    training.Update({"<module>@train.py:4", "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/adam.py:230"},
                    {"<module>@train.py:5", "zero_grad@torch/optim/optimizer.py:900"});
  }
  const Store store = training.program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), 3U);
  EXPECT_EQ(CountEvents(timeline, Phase::kBackward), 3U * 3 * kParameterCount);
  EXPECT_EQ(CountEvents(timeline, Phase::kEval), 0U);
}

// The program makes the next batch, and meanwhile the engine's thread gives back the last blocks of the backward.
TEST(OwnTraining, WhatTheEngineGivesBackLateHidesNoStep) {
  constexpr size_t kSteps = 6;
  OwnTraining training;
  TestProgram& program = training.program;
  training.Load();
  std::vector<uint32_t> begins;
  uint32_t of_graph = kNone;
  for (size_t step = 0; step < kSteps; ++step) {
    begins.push_back(program.event_count());
    const uint32_t batch = program.Alloc(5 << 20, {"<module>@train.py:2"});
    if (step == 2) program.Free(of_graph, {});
    const uint32_t on_device = program.Alloc(5 << 20, {"<module>@train.py:2"});
    program.Free(batch, {"<module>@train.py:2"});
    training.Forward({"<module>@train.py:3", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    of_graph = program.Alloc(2 << 20, {"<module>@train.py:3", "_call_impl@torch/nn/modules/module.py:1700"});
    training.Backward(
        {"<module>@train.py:4", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    training.Update({"<module>@train.py:5"}, {"<module>@train.py:6"});
    if (step != 1) program.Free(of_graph, {"<module>@train.py:6"});
    program.Free(on_device, {"<module>@train.py:6"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), kSteps);
  for (size_t step = 0; step < kSteps; ++step) EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
}

// In one turn the gradients are given back late, by the engine's thread: the order of events alone takes the batch that
// is made before for a part of the update. The same stack in the other turns says that it is none.
TEST(OwnTraining, ABatchThatLooksLikeAnUpdateOnceIsABatch) {
  constexpr size_t kSteps = 6;
  OwnTraining training;
  TestProgram& program = training.program;
  training.Load();
  std::vector<uint32_t> begins;
  for (size_t step = 0; step < kSteps; ++step) {
    begins.push_back(program.event_count());
    const uint32_t batch = program.Alloc(5 << 20, {"<module>@train.py:2"});
    if (step == 2) training.DropGradients({});
    const uint32_t on_device = program.Alloc(5 << 20, {"<module>@train.py:2"});
    program.Free(batch, {"<module>@train.py:2"});
    training.Forward({"<module>@train.py:3", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward(
        {"<module>@train.py:4", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    for (int i = 0; i < kParameterCount; ++i)
      program.Free(program.Alloc(kParameterBytes, {"<module>@train.py:5"}), {"<module>@train.py:5"});
    if (step != 1) training.DropGradients({"<module>@train.py:6"});
    program.Free(on_device, {"<module>@train.py:6"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), kSteps);
  for (size_t step = 0; step < kSteps; ++step) EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
}

TEST(OwnTraining, AWarmUpInALoopOfItsOwnIsNoPartOfTheNextStep) {
  OwnTraining training;
  training.Load();
  const auto step_from = [&](std::string_view loop) {
    training.Forward({loop, "step@train.py:10", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    training.Backward(
        {loop, "step@train.py:11", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    training.Update({loop, "step@train.py:12", "wrapper@torch/optim/optimizer.py:480", "step@torch/optim/adam.py:230"},
                    {loop, "step@train.py:13", "zero_grad@torch/optim/optimizer.py:900"});
  };
  for (int step = 0; step < 2; ++step) step_from("<module>@train.py:30");
  for (int step = 0; step < 3; ++step) step_from("<module>@train.py:32");
  const Store store = training.program.Finish();
  EXPECT_EQ(FindTimeline(store, store.heaps[0]).steps.size(), 5U);
}

// A penalty on the norm of a gradient: the graph of that gradient is given back by the backward of the loss. Gradients
// that an update takes are a backward of their own.
TEST(OwnTraining, AGradientThatTheLossIsComputedFromIsAPartOfTheLoss) {
  for (const bool is_inner : {true, false}) {
    TestProgram program;
    std::vector<uint32_t> grads;
    std::vector<uint32_t> backwards;
    for (int step = 0; step < 3; ++step) {
      std::vector<uint32_t> kept;
      for (int i = 0; i < kParameterCount; ++i)
        kept.push_back(program.Alloc(3 << 20, {"<module>@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"}));
      grads.push_back(program.event_count());
      program.Free(program.Alloc(4, {"<module>@train.py:3", "grad@torch/autograd/__init__.py:500",
                                     "_make_grads@torch/autograd/__init__.py:220"}),
                   {});
      std::vector<uint32_t> graph;
      for (int i = 0; i < kParameterCount; ++i) graph.push_back(program.Alloc(2 << 20, {}));
      if (!is_inner) {
        for (const uint32_t block : graph) program.Free(block, {"<module>@train.py:4", "step@torch/optim/sgd.py:80"});
      }
      backwards.push_back(program.event_count());
      const uint32_t root = program.Alloc(
          4, {"<module>@train.py:5", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
      for (int i = 0; i < kParameterCount; ++i) {
        if (is_inner) program.Free(graph[i], {});
        program.Free(kept[i], {});
      }
      program.Free(root, {});
    }
    const Store store = program.Finish();
    const Timeline timeline = FindTimeline(store, store.heaps[0]);
    for (const uint32_t seq : grads)
      EXPECT_EQ(timeline.phase_of_event[seq], is_inner ? Phase::kLoss : Phase::kBackward) << seq;
    for (const uint32_t seq : backwards) EXPECT_EQ(timeline.phase_of_event[seq], Phase::kBackward) << seq;
  }
}

}  // namespace
}  // namespace memstrata
