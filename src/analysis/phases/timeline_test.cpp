#include "analysis/phases/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

std::vector<Phase> PhasesOfStep(const Timeline& timeline, uint32_t step) {
  std::vector<Phase> phases;
  for (const PhaseSpan& span : timeline.phases) {
    if (span.step == step) phases.push_back(span.phase);
  }
  return phases;
}

TEST(Timeline, FindsThePhasesOfATrainingStep) {
  const Store store = MakeTraining(3);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.basis, PhaseBasis::kStack);
  ASSERT_EQ(timeline.steps.size(), 3U);
  EXPECT_EQ(timeline.phases.front().phase, Phase::kLoad);
  const std::vector<Phase> expected = {Phase::kInput,    Phase::kForward,   Phase::kLoss,
                                       Phase::kBackward, Phase::kOptimizer, Phase::kZeroGrad};
  for (uint32_t step = 0; step < 3; ++step) EXPECT_EQ(PhasesOfStep(timeline, step), expected) << "step " << step;
}

TEST(Timeline, PhasesTileTheEvents) {
  const Store store = MakeTraining(2);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  uint32_t next = 0;
  for (const PhaseSpan& span : timeline.phases) {
    EXPECT_EQ(span.begin_seq, next);
    EXPECT_LT(span.begin_seq, span.end_seq);
    next = span.end_seq;
  }
  EXPECT_EQ(next, store.heaps[0].events.size());
}

TEST(Timeline, StepsBeginWhereTheLoopStartsOver) {
  const Store store = MakeTraining(3);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  for (const StepSpan& step : timeline.steps) EXPECT_EQ(timeline.phase_of_event[step.begin_seq], Phase::kInput);
}

TEST(Timeline, AStepThatLacksItsForwardIsNotComplete) {
  TestProgram program;
  for (int step = 0; step < 4; ++step) {
    uint32_t block = kNone;
    if (step > 0) {  // the recording starts before the first backward
      block = program.Alloc(1 << 20, {"<module>@train.py:9", "train@train.py:2",
                                      "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    }
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
    if (block != kNone) program.Free(block, {});
    program.Free(root, {});
    program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480",
                                      "step@torch/optim/sgd.py:2"}),
                 {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 4U);
  EXPECT_FALSE(timeline.steps[0].is_complete);
  for (size_t step = 1; step < 4; ++step) EXPECT_TRUE(timeline.steps[step].is_complete) << "step " << step;
}

TEST(Timeline, ARecordingWithoutAPatternHasNoSteps) {
  TestProgram program;
  program.Free(program.Alloc(4096, {}), {});
  program.Alloc(8192, {});
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_TRUE(timeline.steps.empty());
  EXPECT_FALSE(timeline.Has(Phase::kForward));
}

// One forward whose layers repeat is one step, and what it keeps to the end of the recording waits for a backward.
TEST(Timeline, AForwardThatTheRecordingCutsOffIsOneStepOfTraining) {
  TestProgram program;
  for (int layer = 0; layer < 12; ++layer) {
    for (const std::string_view line : {"forward@block.py:10", "forward@block.py:11"}) {
      program.Alloc(1 << 20, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                              "forward@model.py:71", "_call_impl@torch/nn/modules/module.py:1700", line});
      program.Free(program.Alloc(1 << 21, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                           "forward@model.py:71", "_call_impl@torch/nn/modules/module.py:1700", line}),
                   {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:71",
                    "_call_impl@torch/nn/modules/module.py:1700", line});
    }
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), 1U);
  EXPECT_TRUE(timeline.Has(Phase::kForward));
  EXPECT_FALSE(timeline.Has(Phase::kEval));
}

// Threads cannot be told apart where no stack shows the program's own.
TEST(Timeline, StacksOfUnknownFunctionsAreNoBackward) {
  TestProgram program;
  for (int i = 0; i < 8; ++i) {
    program.Free(program.Alloc(1 << 20, {"foo@foo.py:1", "bar@bar.py:2"}), {"foo@foo.py:1", "bar@bar.py:3"});
    program.Free(program.Alloc(1 << 20, {"baz@baz.py:1"}), {"baz@baz.py:2"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_FALSE(timeline.Has(Phase::kBackward));
}

// What a program computes by itself, without modules, before its backward is its forward.
TEST(Timeline, AForwardWithoutModulesIsOne) {
  TestProgram program;
  program.Alloc(1 << 20, {"<module>@train.py:1", "make_weights@train.py:30"});
  for (int step = 0; step < 3; ++step) {
    const uint32_t hidden = program.Alloc(4 << 20, {"<module>@train.py:9", "train@train.py:2", "mlp@train.py:40"});
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
    program.Free(hidden, {});
    program.Free(root, {});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.phase_of_event[0], Phase::kLoad);
  EXPECT_EQ(timeline.phase_of_event[1], Phase::kForward);
}

// Optimizer.step(closure) runs the model and the backward below the optimizer's frames; its own work is beside them.
TEST(Timeline, AClosureOfTheOptimizerIsNamedByItsOwnFrames) {
  TestProgram program;
  for (int step = 0; step < 3; ++step) {
    const uint32_t hidden = program.Alloc(
        4 << 20, {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:115",
                  "closure@train.py:5", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    program.Free(program.Alloc(8192, {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485",
                                      "step@torch/optim/sgd.py:115", "closure@train.py:7"}),
                 {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:115",
                  "closure@train.py:7"});
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:115",
                          "closure@train.py:6", "_make_grads@torch/autograd/__init__.py:2"});
    const uint32_t gradient = program.Alloc(1 << 20, {});
    program.Free(hidden, {});
    program.Free(root, {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:115",
                        "closure@train.py:6", "backward@torch/autograd/__init__.py:2"});
    program.Free(program.Alloc(1 << 20, {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485",
                                         "step@torch/optim/sgd.py:130", "helper@mine.py:2"}),
                 {"<module>@train.py:9", "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:130"});
    program.Free(gradient, {"<module>@train.py:10", "zero_grad@torch/optim/optimizer.py:900"});
  }
  program.Annotate("Optimizer.step#SGD.step", 0, program.event_count());  // PyTorch names what lies in the closure too
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  const std::vector<Phase> expected = {Phase::kForward, Phase::kLoss, Phase::kBackward, Phase::kOptimizer,
                                       Phase::kZeroGrad};
  for (uint32_t step = 0; step < 3; ++step) EXPECT_EQ(PhasesOfStep(timeline, step), expected) << "step " << step;
}

// An optimizer of the program's own: stacks name its functions, but none of them is known.
TEST(Timeline, AnOwnOptimizerIsKnownByTheSizesOfTheGradients) {
  TestProgram program;
  constexpr uint64_t kWeights[] = {3 << 20, 5 << 20, 7 << 20};
  for (const uint64_t size : kWeights)
    program.Alloc(size, {"<module>@train.py:2", "_apply@torch/nn/modules/module.py:9"});
  for (int step = 0; step < 3; ++step) {
    std::vector<uint32_t> kept;
    for (const uint64_t size : kWeights) {
      kept.push_back(program.Alloc(9 * size, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700"}));
    }
    const uint32_t root = program.Alloc(4, {"<module>@train.py:10", "_make_grads@torch/autograd/__init__.py:2"});
    std::vector<uint32_t> gradients;
    for (size_t layer = std::size(kWeights); layer-- > 0; kept.pop_back()) {
      gradients.push_back(program.Alloc(kWeights[layer], {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {"<module>@train.py:10", "backward@torch/autograd/__init__.py:9"});
    for (const uint64_t size : kWeights) {
      program.Free(program.Alloc(size, {"<module>@train.py:11", "apply@rule.py:5"}),
                   {"<module>@train.py:11", "apply@rule.py:6"});
    }
    for (const uint32_t gradient : gradients) program.Free(gradient, {"<module>@train.py:12", "forget@rule.py:9"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  const std::vector<Phase> expected = {Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kZeroGrad};
  for (uint32_t step = 0; step < 3; ++step) EXPECT_EQ(PhasesOfStep(timeline, step), expected) << "step " << step;
}

// tensor.backward(gradient) makes no gradient of the loss by itself, and the engine runs without frames.
TEST(Timeline, ABackwardThatStartsWithAGradientIsKnownByTheEngine) {
  TestProgram program;
  constexpr int kLayers = 10;
  for (int step = 0; step < 3; ++step) {
    std::vector<uint32_t> kept;
    std::vector<uint32_t> gradients;
    for (int i = 0; i < kLayers; ++i)
      kept.push_back(program.Alloc(4 << 20, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700"}));
    const uint32_t root = program.Alloc(4096, {"<module>@train.py:10"});
    for (; !kept.empty(); kept.pop_back()) {
      gradients.push_back(program.Alloc(1 << 20, {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {"<module>@train.py:10"});
    for (const uint32_t row : gradients) program.Free(row, {"<module>@train.py:11", "zero_grad@torch/optim/sgd.py:9"});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  for (uint32_t step = 0; step < 3; ++step) {
    const std::vector<Phase> phases = PhasesOfStep(timeline, step);
    EXPECT_EQ(phases.front(), Phase::kForward) << step;
    EXPECT_NE(std::find(phases.begin(), phases.end(), Phase::kBackward), phases.end()) << step;
    EXPECT_EQ(phases.back(), Phase::kZeroGrad) << step;
  }
}

// One update of the weights, called from a line of the training program.
void Update(TestProgram& program, std::string_view line) {
  const uint32_t hidden = program.Alloc(
      4 << 20, {"<module>@train.py:90", line, "step@train.py:2", "_call_impl@torch/nn/modules/module.py:1700"});
  const uint32_t root =
      program.Alloc(4, {"<module>@train.py:90", line, "step@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
  const uint32_t gradient = program.Alloc(1 << 20, {});
  program.Free(hidden, {});
  program.Free(root, {"<module>@train.py:90", line, "step@train.py:3", "backward@torch/autograd/__init__.py:9"});
  program.Free(program.Alloc(1 << 20, {"<module>@train.py:90", line, "step@train.py:4",
                                       "wrapper@torch/optim/optimizer.py:485", "step@torch/optim/sgd.py:115"}),
               {"<module>@train.py:90", line, "step@train.py:4", "wrapper@torch/optim/optimizer.py:485"});
  program.Free(gradient, {"<module>@train.py:90", line, "step@train.py:5", "zero_grad@torch/optim/optimizer.py:900"});
}

// A warm-up, and the loop that is measured: nothing jumps back between them.
TEST(Timeline, EachUpdateOfALoopThatFollowsAnotherIsAStep) {
  TestProgram program;
  std::vector<uint32_t> begins;
  for (const std::string_view line : {"main@train.py:20", "main@train.py:22", "main@train.py:22", "main@train.py:24",
                                      "main@train.py:24", "main@train.py:24"}) {
    begins.push_back(program.event_count());
    Update(program, line);
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), begins.size());
  for (size_t step = 0; step < begins.size(); ++step) EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
}

// Two models that one loop trains in turns, each on its own line, are one step.
TEST(Timeline, TwoUpdatesInOneLoopAreOneStep) {
  TestProgram program;
  for (int step = 0; step < 3; ++step) {
    Update(program, "main@train.py:22");
    Update(program, "main@train.py:23");
  }
  const Store store = program.Finish();
  EXPECT_EQ(FindTimeline(store, store.heaps[0]).steps.size(), 3U);
}

// A call of the model, and the program's own line after it.
void CallModel(TestProgram& program) {
  program.Free(program.Alloc(1 << 20, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                       "forward@model.py:8"}),
               {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:9"});
  program.Free(program.Alloc(4096, {"<module>@serve.py:10"}), {"<module>@serve.py:10"});
}

// An update that works in place leaves no events; the loop of the evaluation behind it starts no step.
TEST(Timeline, AnEvaluationAfterAnUpdateWithoutEventsStartsNoStep) {
  TestProgram program;
  std::vector<uint32_t> begins;
  std::vector<uint32_t> gradients;
  const auto forward = [&](std::string_view line) {
    return program.Alloc(1 << 20, {"<module>@a.py:1", line, "_call_impl@torch/nn/modules/module.py:1700"});
  };
  for (int step = 0; step < 4; ++step) {
    begins.push_back(program.event_count());
    for (; !gradients.empty(); gradients.pop_back())
      program.Free(gradients.back(), {"<module>@a.py:1", "main@a.py:10", "zero_grad@torch/optim/optimizer.py:900"});
    program.Alloc(4096, {"<module>@a.py:1", "main@a.py:11"});
    const uint32_t kept = forward("main@a.py:12");
    const uint32_t root =
        program.Alloc(4, {"<module>@a.py:1", "main@a.py:13", "_make_grads@torch/autograd/__init__.py:2"});
    for (int i = 0; i < 4; ++i) gradients.push_back(program.Alloc(2 << 20, {}));
    program.Free(kept, {});
    program.Free(root, {"<module>@a.py:1", "main@a.py:13"});
    for (int batch = 0; batch < 3; ++batch) {
      const uint32_t input = program.Alloc(4096, {"<module>@a.py:1", "main@a.py:20"});
      program.Free(forward("main@a.py:21"), {"<module>@a.py:1", "main@a.py:22"});
      program.Free(input, {"<module>@a.py:1", "main@a.py:23"});
    }
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), begins.size());
  for (size_t step = 0; step < begins.size(); ++step) EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
}

// for x in batches: total = total + model(x) — all of it is called from one line, and the graph of each turn is kept.
TEST(Timeline, TurnsOfALoopOfOneLineAreSteps) {
  constexpr std::string_view kLine = "<module>@run.py:7";
  const auto steps_with = [&](bool has_own_work) {
    TestProgram program;
    for (int turn = 0; turn < 8; ++turn) {
      for (const uint64_t size_bytes : {3 << 20, 2 << 20, 1 << 20})
        program.Alloc(size_bytes, {kLine, "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
      if (has_own_work) program.Alloc(4, {kLine});
    }
    const Store store = program.Finish();
    return FindTimeline(store, store.heaps[0]).steps.size();
  };
  EXPECT_EQ(steps_with(true), 8U);
  EXPECT_EQ(steps_with(false), 1U);  // eight layers of one call look the same
}

// A server: the loop of decodes ends on the line where the loop of requests ends.
TEST(Timeline, ARequestWithItsDecodesIsOneStep) {
  TestProgram program;
  std::vector<uint32_t> begins;
  const auto call = [&](std::string_view line) {
    program.Free(program.Alloc(1 << 20, {"<module>@serve.py:9", "main@serve.py:40", line,
                                         "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}),
                 {"<module>@serve.py:9", "main@serve.py:40", line, "_call_impl@torch/nn/modules/module.py:1700"});
  };
  for (int request = 0; request < 3; ++request) {
    begins.push_back(program.event_count());
    call("handle@serve.py:13");
    for (int token = 0; token < 4; ++token) {
      program.Free(program.Alloc(64, {"<module>@serve.py:9", "main@serve.py:40", "handle@serve.py:16"}),
                   {"<module>@serve.py:9", "main@serve.py:40", "handle@serve.py:16"});
      call("handle@serve.py:17");
    }
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), begins.size());
  for (size_t step = 0; step < begins.size(); ++step) {
    EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
    EXPECT_EQ(PhasesOfStep(timeline, static_cast<uint32_t>(step)), std::vector<Phase>{Phase::kEval}) << step;
  }
}

TEST(Timeline, AnnotationsSayWhatAForwardIsFor) {
  TestProgram program;
  CallModel(program);
  const uint32_t decode = program.event_count();
  CallModel(program);
  program.Annotate("prefill", 0, decode);
  program.Annotate("## decode ##", decode, program.event_count());
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  for (uint32_t seq = 0; seq < store.events.size(); ++seq)
    EXPECT_EQ(timeline.phase_of_event[seq], seq < decode ? Phase::kPrefill : Phase::kDecode) << seq;
}

TEST(Timeline, MetadataOfEventsNamesPhases) {
  TestProgram program(false);
  for (int i = 0; i < 4; ++i) program.Free(program.Alloc(1 << 20, {}), {});
  Store store = program.Finish();
  store.contexts.push_back({{0}, {0}, {0}, {0}});
  store.contexts.push_back({{0}, store.strings.Intern("eval"), {0}, {0}});
  for (uint32_t seq = 0; seq < store.events.size(); ++seq) store.events.context.PushBack(seq < 6 ? 0 : 1);
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.basis, PhaseBasis::kAnnotation);
  for (uint32_t seq = 0; seq < store.events.size(); ++seq)
    EXPECT_EQ(timeline.phase_of_event[seq] == Phase::kEval, seq >= 6) << seq;
}

TEST(Timeline, NamedStepsAreSteps) {
  TestProgram program;
  std::vector<uint32_t> begins;
  for (int step = 0; step < 3; ++step) {
    begins.push_back(program.event_count());
    CallModel(program);
    CallModel(program);
  }
  for (size_t step = 0; step < begins.size(); ++step) {
    const uint32_t end = step + 1 < begins.size() ? begins[step + 1] : program.event_count();
    program.Annotate("train_step " + std::to_string(step), begins[step], end);
    program.Annotate("step", begins[step], begins[step] + 1);  // within it
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 3U);
  for (size_t step = 0; step < 3; ++step) EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]);
}

}  // namespace
}  // namespace memstrata
