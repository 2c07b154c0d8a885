#include "analysis/marks/marks.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/marks/steep_fall.h"
#include "analysis/marks/step_view.h"
#include "analysis/next_peak/next_peak.h"
#include "analysis/test_program.h"
#include "analysis/test_update_in_backward.h"

namespace memstrata {
namespace {

const Mark* Find(const Marks& marks, MarkKind kind) {
  for (const Mark& mark : marks.marks) {
    if (mark.kind == kind) return &mark;
  }
  return nullptr;
}

class MarksOfTraining : public testing::Test {
 protected:
  const Store store_ = MakeTraining(3);
  const HeapAnalysis analysis_ = AnalyseHeap(store_, store_.heaps[0]);
  const Marks marks_ = FindMarks(analysis_);

  void Expect(MarkKind kind, uint64_t bytes, std::optional<uint32_t> count) {
    const Mark* mark = Find(marks_, kind);
    ASSERT_NE(mark, nullptr) << kMarkKindNames[static_cast<size_t>(kind)];
    EXPECT_EQ(mark->bytes, bytes);
    EXPECT_EQ(mark->count, count);
    EXPECT_LT(mark->begin_seq, mark->end_seq);
  }
};

TEST_F(MarksOfTraining, AreFoundWithTheirBytes) {
  Expect(MarkKind::kConstantBand, 4 << 20, 4);
  Expect(MarkKind::kForwardRamp, 8 << 20, std::nullopt);
  Expect(MarkKind::kLogitsSlab, 8 << 20, 1);
  Expect(MarkKind::kBackwardStartSpike, 8 << 20, 1);
  Expect(MarkKind::kGradientRamp, 4 << 20, 4);
  Expect(MarkKind::kForeachTemporaries, 4 << 20, 4);
  Expect(MarkKind::kZeroGradSlope, 4 << 20, 4);
  Expect(MarkKind::kOptimizerStateInit, 8 << 20, 8);
}

TEST_F(MarksOfTraining, AreNotClaimedWhereThereIsNone) {
  EXPECT_EQ(Find(marks_, MarkKind::kRecomputeRipple), nullptr);
  EXPECT_EQ(Find(marks_, MarkKind::kAutocastCopies), nullptr);
  EXPECT_EQ(Find(marks_, MarkKind::kSoftmaxSpike), nullptr);
  EXPECT_EQ(Find(marks_, MarkKind::kGrowth), nullptr);
}

TEST_F(MarksOfTraining, EachHasAReading) {
  for (const Mark& mark : marks_.marks) EXPECT_FALSE(MarkReading(mark.kind).empty());
}

// An optimizer calls the closure twice in a step, the second time from another line: zero_grad, forward and backward.
TEST(Marks, GradientsOfAClosureThatIsCalledTwiceCountOnce) {
  TestProgram program;
  constexpr std::string_view kWrapper = "wrapper@torch/optim/optimizer.py:485";
  constexpr std::string_view kCalls[] = {"step@torch/optim/lbfgs.py:330", "step@torch/optim/lbfgs.py:440"};
  constexpr int kParameterCount = 3;
  for (int i = 0; i < kParameterCount; ++i)
    program.Alloc(1 << 20, {"<module>@train.py:1", "_apply@torch/nn/modules/module.py:900"});
  std::vector<uint32_t> gradients;
  for (int step = 0; step < 4; ++step) {
    for (const std::string_view call : kCalls) {
      for (const uint32_t row : gradients)
        program.Free(row, {"<module>@train.py:9", kWrapper, call, "closure@train.py:3",
                           "zero_grad@torch/optim/optimizer.py:900"});
      gradients.clear();
      const uint32_t block =
          program.Alloc(4 << 20, {"<module>@train.py:9", kWrapper, call, "closure@train.py:4",
                                  "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
      program.Free(program.Alloc(4, {"<module>@train.py:9", kWrapper, call, "closure@train.py:5",
                                     "_make_grads@torch/autograd/__init__.py:2"}),
                   {});
      const uint32_t of_input = program.Alloc(160'000, {});
      for (int i = 0; i < kParameterCount; ++i) gradients.push_back(program.Alloc(1 << 20, {}));
      program.Free(block, {});
      program.Free(program.Alloc(4096, {"<module>@train.py:9", kWrapper, call, "helper@torch/optim/lbfgs.py:200"}),
                   {"<module>@train.py:9", kWrapper, call, "helper@torch/optim/lbfgs.py:200"});
      program.Free(of_input, {"<module>@train.py:9", kWrapper, call});
    }
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  ASSERT_EQ(analysis.timeline.steps.size(), 4U);
  const Marks marks = FindMarks(analysis);
  for (const MarkKind kind : {MarkKind::kGradientRamp, MarkKind::kZeroGradSlope}) {
    const Mark* mark = Find(marks, kind);
    ASSERT_NE(mark, nullptr);
    EXPECT_EQ(mark->count, kParameterCount);
    EXPECT_EQ(mark->bytes, uint64_t{kParameterCount} << 20);
  }
}

// Training of MakeTraining frees the gradients after the update that used them; the other order frees them in the next
// step.
TEST(Marks, ZeroGradSaysOfWhichStepItsGradientsAre) {
  const Store after = MakeTraining(3);
  const HeapAnalysis analysis_after = AnalyseHeap(after, after.heaps[0]);
  const Marks marks_after = FindMarks(analysis_after);
  const Mark* mark = Find(marks_after, MarkKind::kZeroGradSlope);
  ASSERT_NE(mark, nullptr);
  EXPECT_EQ(mark->text, "zero_grad frees 4 gradients of this step: 4.00 MiB");

  TestProgram program;
  std::vector<uint32_t> gradients;
  for (int step = 0; step < 3; ++step) {
    const uint64_t block_bytes = step == 1 ? 6 << 20 : 4 << 20;  // its peak is the one of all
    const uint32_t block =
        program.Alloc(block_bytes, {"<module>@train.py:4", "_call_impl@torch/nn/modules/module.py:1700"});
    for (const uint32_t row : gradients)
      program.Free(row, {"<module>@train.py:5", "zero_grad@torch/optim/optimizer.py:900"});
    gradients.clear();
    program.Free(program.Alloc(4, {"<module>@train.py:6", "_make_grads@torch/autograd/__init__.py:2"}), {});
    for (int i = 0; i < 3; ++i) gradients.push_back(program.Alloc(1 << 20, {}));
    program.Free(block, {});
    program.Free(program.Alloc(4096, {"<module>@train.py:7", "step@torch/optim/sgd.py:20"}),
                 {"<module>@train.py:7", "step@torch/optim/sgd.py:20"});
  }
  const Store before = program.Finish();
  const HeapAnalysis analysis_before = AnalyseHeap(before, before.heaps[0]);
  const Marks marks_before = FindMarks(analysis_before);
  mark = Find(marks_before, MarkKind::kZeroGradSlope);
  ASSERT_NE(mark, nullptr);
  EXPECT_EQ(mark->text, "zero_grad frees 3 gradients of the step before: 3.00 MiB");
}

TEST(Marks, EachKindOfRepeatCountsOnce) {
  StepView view;
  view.repeat_begins = {50};
  Column<uint32_t> seq_of_row;
  for (const uint32_t seq : {10, 20, 60, 70}) seq_of_row.PushBack(seq);
  const auto size_column = [](std::initializer_list<uint64_t> sizes) {
    Column<uint64_t> column;
    for (const uint64_t size : sizes) column.PushBack(size);
    return column;
  };
  using Rows = std::vector<uint32_t>;
  EXPECT_EQ(OfOneRepeat(view, {0, 1, 2, 3}, seq_of_row, size_column({4, 8, 8, 4})), (Rows{0, 1}));
  EXPECT_EQ(OfOneRepeat(view, {0, 1, 2, 3}, seq_of_row, size_column({4, 8, 8, 5})), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(OfOneRepeat(view, {0, 2, 3}, seq_of_row, size_column({4, 8, 2, 2})), (Rows{0, 2, 3}));
}

// The function that trains returns, and gives its model back, before the recording ends.
TEST(Marks, GradientsThatAHookGivesBackAreOneAtATime) {
  const UpdatesInBackward run = MakeUpdatesInBackward(true);
  const HeapAnalysis analysis = AnalyseHeap(run.store, run.store.heaps[0]);
  const Marks marks = FindMarks(analysis);
  const Mark* ramp = Find(marks, MarkKind::kGradientRamp);
  ASSERT_NE(ramp, nullptr);
  EXPECT_EQ(ramp->count, std::size(kHookedWeights));
  EXPECT_EQ(ramp->bytes, 11 << 20);
}

TEST(Marks, AModelThatIsGivenBackIsAConstantBandToo) {
  const Store store = MakeTraining(3, 0, true, Ending::kReturns);
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  std::vector<uint64_t> bytes;
  for (const Mark& mark : marks.marks) {
    if (mark.kind == MarkKind::kConstantBand) bytes.push_back(mark.bytes);
  }
  EXPECT_EQ(bytes, (std::vector<uint64_t>{4 << 20, 8 << 20}));
}

// What the backward makes after the last call that runs again, as the gradient of the embedding, is of no ripple; nor
// is the forward between two backwards of one step.
TEST(Marks, ARippleEndsWhenItsBlocksAreGivenBack) {
  TestProgram program;
  constexpr uint64_t kMiB = 1 << 20;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    const uint32_t kept = program.Alloc(
        9 * kMiB, {"<module>@train.py:10", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    const uint32_t root = program.Alloc(4, {"<module>@train.py:11", "_make_grads@torch/autograd/__init__.py:220"});
    for (int call = 0; call < 3; ++call) {
      const uint32_t again = program.Alloc(
          4 * kMiB, {"unpack_hook@torch/utils/checkpoint.py:1100", "recompute_fn@torch/utils/checkpoint.py:1500",
                     "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
      program.Alloc(kMiB, {});  // a gradient
      program.Free(again, {});
    }
    program.Alloc(50 * kMiB, {});
    program.Free(kept, {});
    program.Free(root, {});
  }
  program.Free(program.Alloc(kMiB, {"<module>@train.py:12", "wrapper@torch/optim/optimizer.py:480",
                                    "_multi_tensor_adam@torch/optim/adam.py:700"}),
               {"<module>@train.py:12"});
  const Store store = program.Finish();
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  const Mark* ripple = Find(marks, MarkKind::kRecomputeRipple);
  ASSERT_NE(ripple, nullptr);
  EXPECT_EQ(ripple->count, 6U);
  EXPECT_EQ(ripple->bytes, 5 * kMiB);
}

// A step that a failed request cuts off tells less than one that is complete.
TEST(Marks, TheStepThatIsToldIsComplete) {
  const Store store = MakeTraining(3, 0, true, Ending::kFails);
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  EXPECT_EQ(marks.step, 2U);
  EXPECT_NE(Find(marks, MarkKind::kForeachTemporaries), nullptr);
}

// Where the vocabulary's weights are frozen, the largest gradient is another parameter's.
TEST(Marks, AFrozenVocabularyHasNoGradient) {
  for (const bool is_frozen : {false, true}) {
    TestProgram program;
    const auto load = [&](uint64_t bytes) {
      program.Alloc(bytes, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
    };
    load(40 << 20);
    for (int i = 0; i < 12; ++i) load(1 << 20);
    std::vector<uint32_t> kept;
    for (int i = 0; i < 6; ++i) {
      kept.push_back(program.Alloc(
          2 << 20, {"<module>@train.py:10", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
    }
    kept.push_back(program.Alloc(16 << 20, {"<module>@train.py:11", "cross_entropy@torch/nn/functional.py:3000"}));
    const uint32_t root = program.Alloc(4, {"<module>@train.py:12", "_make_grads@torch/autograd/__init__.py:220"});
    for (int i = 0; i < 2; ++i) program.Free(program.Alloc(16 << 20, {}), {});  // one after the other
    for (int i = 0; i < 12; ++i) {
      if (i == 0 && !is_frozen) program.Alloc(40 << 20, {});
      program.Alloc(1 << 20, {});
    }
    for (const uint32_t block : kept) program.Free(block, {});
    program.Free(root, {});
    const Store store = program.Finish();
    const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
    ASSERT_NE(Find(marks, MarkKind::kLogitsSlab), nullptr);
    EXPECT_EQ(Find(marks, MarkKind::kHeadGradient) == nullptr, is_frozen);
    ASSERT_NE(Find(marks, MarkKind::kBackwardStartSpike), nullptr);
    EXPECT_EQ(Find(marks, MarkKind::kBackwardStartSpike)->count, 1U);
  }
}

// The update's temporaries rise to the one of the largest parameter, which is made last and given back first.
TEST(Marks, TheTipOfAPyramidIsAFlagpole) {
  Store store;
  {
    TestProgram program;
    const uint32_t kept = program.Alloc(
        8 << 20, {"<module>@train.py:10", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    const uint32_t root = program.Alloc(4, {"<module>@train.py:12", "_make_grads@torch/autograd/__init__.py:220"});
    program.Alloc(1 << 20, {});
    program.Free(kept, {});
    program.Free(root, {});
    std::vector<uint32_t> roots;
    for (int i = 0; i < 40; ++i) {
      roots.push_back(
          program.Alloc(i == 39 ? 30 << 20 : 1 << 20, {"<module>@train.py:13", "wrapper@torch/optim/optimizer.py:480",
                                                       "_multi_tensor_adam@torch/optim/adam.py:700"}));
    }
    for (size_t i = roots.size(); i-- > 0;)
      program.Free(roots[i], {"<module>@train.py:13", "wrapper@torch/optim/optimizer.py:480"});
    store = program.Finish();
  }
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  ASSERT_NE(Find(marks, MarkKind::kForeachTemporaries), nullptr);
  EXPECT_EQ(Find(marks, MarkKind::kForeachTemporaries)->bytes, 69U << 20);
  const Mark* flagpole = Find(marks, MarkKind::kOptimizerFlagpole);
  ASSERT_NE(flagpole, nullptr);
  EXPECT_EQ(flagpole->bytes, 30U << 20);
}

void ExpectSoftmaxSpike(TestProgram& program, uint64_t bytes) {
  const Store store = program.Finish();
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  ASSERT_NE(Find(marks, MarkKind::kSoftmaxSpike), nullptr);
  EXPECT_EQ(Find(marks, MarkKind::kSoftmaxSpike)->bytes, bytes);
}

TEST(Marks, ASoftmaxOfAnInferenceIsASpike) {
  TestProgram program;
  for (int step = 0; step < 2; ++step) {
    const auto in_softmax = [&](std::string_view inner) {
      return program.Alloc(6 << 20, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                     "forward@model.py:8", "softmax@functions.py:3", inner});
    };
    const uint32_t shifted = in_softmax("sub@native.cpp:1");
    const uint32_t exponential = in_softmax("exp@native.cpp:1");
    for (const uint32_t block : {shifted, exponential})
      program.Free(block, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  }
  ExpectSoftmaxSpike(program, 12U << 20);
}

// The product before a softmax makes its input; only the result has the softmax in its stack.
TEST(Marks, ASoftmaxAndItsInputAreASpike) {
  TestProgram program;
  for (int step = 0; step < 2; ++step) {
    const uint32_t scores = program.Alloc(
        6 << 20, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    const uint32_t result = program.Alloc(6 << 20, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700",
                                                    "forward@model.py:9", "softmax@torch/nn/functional.py:2100"});
    for (const uint32_t block : {scores, result})
      program.Free(block, {"<module>@serve.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  }
  ExpectSoftmaxSpike(program, 12U << 20);
}

// The loss copies the scores to single precision, and its backward needs the softmax of the copy only.
TEST(Marks, TheSoftmaxOfALossIsASpike) {
  TestProgram program;
  for (int step = 0; step < 2; ++step) {
    const uint32_t layer = program.Alloc(
        4 << 20, {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    const uint32_t copy = program.Alloc(
        16 << 20, {"<module>@train.py:10", "loss@train.py:4", "cross_entropy@torch/nn/functional.py:3000"});
    const uint32_t softmax = program.Alloc(
        16 << 20, {"<module>@train.py:10", "loss@train.py:4", "cross_entropy@torch/nn/functional.py:3000"});
    program.Free(copy, {"<module>@train.py:10", "loss@train.py:4"});
    const uint32_t root = program.Alloc(4, {"<module>@train.py:11", "_make_grads@torch/autograd/__init__.py:220"});
    for (const uint32_t block : {softmax, layer, root}) program.Free(block, {});
    program.Free(program.Alloc(1 << 20, {}), {"<module>@train.py:12", "wrapper@torch/optim/optimizer.py:480"});
  }
  ExpectSoftmaxSpike(program, 32U << 20);
}

/// What comes between the layers of a model of 1,024 tokens and width 256, one pair of equal blocks to a layer. A block
/// of a pair has `numbers` for each token.
Store MakeTokenModel(uint64_t numbers, uint64_t input_bytes) {
  constexpr uint64_t kTokens = 1024;
  constexpr uint64_t kWidth = 256;
  TestProgram program;
  const auto load = [&](uint64_t count) {
    program.Alloc(4 * count, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
  };
  for (int i = 0; i < 8; ++i) load(kWidth);
  for (int i = 0; i < 4; ++i) load(4 * kWidth * kWidth);
  for (int step = 0; step < 2; ++step) {
    const uint32_t input = program.Alloc(input_bytes, {"<module>@train.py:10", "to@data.py:3"});
    std::vector<uint32_t> kept;
    for (int layer = 0; layer < 4; ++layer) {
      const auto forward = [&](uint64_t count) {
        return program.Alloc(
            4 * count, {"<module>@train.py:11", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
      };
      kept.push_back(forward(kTokens * kWidth));
      const uint32_t made_from = forward(kTokens * numbers);
      kept.push_back(forward(kTokens * numbers));
      program.Free(made_from, {"<module>@train.py:11"});
      kept.push_back(forward(kTokens * kWidth));
    }
    const uint32_t root = program.Alloc(4, {"<module>@train.py:12", "_make_grads@torch/autograd/__init__.py:220"});
    for (size_t i = kept.size(); i-- > 0;) program.Free(kept[i], {});
    program.Free(root, {});
    program.Free(program.Alloc(1 << 20, {}), {"<module>@train.py:13", "wrapper@torch/optim/optimizer.py:480"});
    program.Free(input, {"<module>@train.py:14"});
  }
  return program.Finish();
}

// `torch.softmax` leaves no name. Four heads of 512 tokens each against all others; a feed-forward of the same shape
// has weights of its width; what is no token has no heads.
TEST(Marks, AnAttentionIsKnownByItsSize) {
  constexpr uint64_t kTokenBytes = 1024 * sizeof(int64_t);
  const Store attention = MakeTokenModel(2048, kTokenBytes);
  const Marks marks = FindMarks(AnalyseHeap(attention, attention.heaps[0]));
  ASSERT_NE(Find(marks, MarkKind::kSoftmaxSpike), nullptr);
  EXPECT_EQ(Find(marks, MarkKind::kSoftmaxSpike)->bytes, 2 * 4 * 1024 * 2048U);
  const Store feed_forward = MakeTokenModel(1024, kTokenBytes);
  EXPECT_EQ(Find(FindMarks(AnalyseHeap(feed_forward, feed_forward.heaps[0])), MarkKind::kSoftmaxSpike), nullptr);
  const Store images = MakeTokenModel(2048, 3 * kTokenBytes);
  EXPECT_EQ(Find(FindMarks(AnalyseHeap(images, images.heaps[0])), MarkKind::kSoftmaxSpike), nullptr);
}

// Large blocks go at once, then small ones are made again and again: the fall is over when memory rises.
TEST(SteepFall, EndsWhereMemoryRises) {
  TestProgram program;
  const uint32_t low = program.Alloc(1 << 20, {});
  const uint32_t high = program.Alloc(8 << 20, {});
  program.Free(high, {});
  program.Free(low, {});
  for (int i = 0; i < 4; ++i) program.Alloc(1 << 20, {});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const SteepFall fall = FindSteepFall(analysis, 0, store.heaps[0].events.size());
  EXPECT_EQ(fall.bytes, 9U << 20);
  EXPECT_EQ(fall.begin_seq, 1U);
  EXPECT_EQ(fall.middle_seq, 3U);
  EXPECT_EQ(fall.end_seq, 5U);
}

// What a reentrant checkpoint's backward makes lies below no frame of the program.
TEST(NextPeak, NamesTheBackwardAndNotTheEngine) {
  TestProgram program;
  program.Alloc(100, {"backward@torch/utils/checkpoint.py:320", "_engine_run_backward@torch/autograd/graph.py:824"});
  program.Alloc(80, {"_engine_run_backward@torch/autograd/graph.py:824"});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  std::map<std::string, uint64_t> gain_bytes;
  for (const NextPeak& next : FindNextPeaks(analysis)) {
    if (!next.category) gain_bytes[next.remove] = next.gain_bytes;
  }
  EXPECT_EQ(gain_bytes,
            (std::map<std::string, uint64_t>{{"the backward of checkpointed layers", 100}, {"the backward", 80}}));
}

TEST(NextPeak, IsThePeakWithoutTheCategory) {
  TestProgram program;
  program.Alloc(100, {"<module>@a.py:1", "_apply@torch/nn/modules/module.py:9"});
  program.Free(program.Alloc(50, {"<module>@a.py:2", "forward@b.py:1"}), {"<module>@a.py:2", "forward@b.py:1"});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.peak.bytes, 150U);
  for (const NextPeak& next : FindNextPeaks(analysis)) EXPECT_EQ(next.peak.bytes + next.gain_bytes, 150U);
  std::vector<uint64_t> gains_of_categories;
  for (const NextPeak& next : FindNextPeaks(analysis)) {
    if (next.category) gains_of_categories.push_back(next.gain_bytes);
  }
  EXPECT_EQ(gains_of_categories, (std::vector<uint64_t>{100, 50}));
  EXPECT_EQ(FindNextPeaks(analysis).size(), 4U);  // the stacks of both too
}

}  // namespace
}  // namespace memstrata
