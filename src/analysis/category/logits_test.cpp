#include "analysis/category/logits.h"

#include <gtest/gtest.h>

#include "analysis/marks/marks.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLayerBytes = 4 * kMiB;
constexpr uint64_t kLogitsBytes = 64 * kMiB;
constexpr int kLayerCount = 24;

/// One training step of a language model in half precision: the head makes its output before `copy_count` copies of
/// weights are given back, as autocast does, and the loss works in full precision.
struct LanguageModel {
  uint32_t head = 0;
  uint32_t float_logits = 0;
  uint32_t gradient = 0;
  uint32_t head_of_failure = kNone;  // output of the head in a second forward, whose loss finds no memory
  Store store;
};

class LanguageModelMaker {
 public:
  explicit LanguageModelMaker(bool keeps_stacks) : program_(keeps_stacks) {}

  void Step(int copy_count) {
    std::vector<uint32_t> layers;
    std::vector<uint32_t> copies;
    for (int i = 0; i < kLayerCount; ++i) {
      layers.push_back(Layer(kLayerBytes));
      if (i < copy_count) copies.push_back(Layer(kMiB));
    }
    layers.push_back(Head(kLayerBytes));  // the input of the head in half precision
    model_.head = Head(kLogitsBytes / 2);
    for (const uint32_t copy : copies)
      program_.Free(copy, {"<module>@train.py:9", "__exit__@torch/amp/autocast_mode.py:400"});
    model_.float_logits = Loss(kLogitsBytes);
    const uint32_t scalar = Loss(4);
    const uint32_t root = program_.Alloc(4, {"<module>@train.py:11", "_make_grads@torch/autograd/__init__.py:220"});
    model_.gradient = program_.Alloc(kLogitsBytes, {});
    for (const uint32_t row : {model_.float_logits, model_.gradient, model_.head}) program_.Free(row, {});
    for (size_t i = layers.size(); i-- > 0;) {
      program_.Alloc(2 * kMiB, {});
      program_.Free(layers[i], {});
    }
    program_.Free(root, {});
    program_.Free(scalar, {"<module>@train.py:12"});
  }

  /// The forward of a longer batch, whose loss finds no memory.
  void FailInLoss() {
    std::vector<uint32_t> layers;
    for (int i = 0; i < kLayerCount; ++i) layers.push_back(Layer(2 * kLayerBytes));
    layers.push_back(Head(2 * kLayerBytes));
    model_.head_of_failure = Head(kLogitsBytes);
    program_.Fail(2 * kLogitsBytes, {"<module>@train.py:10", "cross_entropy@torch/nn/functional.py:3000"});
    program_.Free(model_.head_of_failure, {"<module>@train.py:20"});
    for (const uint32_t layer : layers) program_.Free(layer, {"<module>@train.py:20"});
  }

  LanguageModel Finish() {
    model_.store = program_.Finish();
    return std::move(model_);
  }

 private:
  uint32_t Layer(uint64_t bytes) {
    return program_.Alloc(bytes,
                          {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  }
  uint32_t Head(uint64_t bytes) {
    return program_.Alloc(bytes,
                          {"<module>@train.py:9", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:9"});
  }
  uint32_t Loss(uint64_t bytes) {
    return program_.Alloc(bytes, {"<module>@train.py:10", "cross_entropy@torch/nn/functional.py:3000"});
  }

  TestProgram program_;
  LanguageModel model_;
};

LanguageModel MakeLanguageModel(int copy_count, bool keeps_stacks) {
  LanguageModelMaker maker(keeps_stacks);
  maker.Step(copy_count);
  return maker.Finish();
}

TEST(Logits, AreTheOutputOfTheHeadAndWhatTheLossMakesOfIt) {
  for (const int copy_count : {0, kLayerCount}) {
    const LanguageModel model = MakeLanguageModel(copy_count, true);
    const HeapAnalysis analysis = AnalyseHeap(model.store, model.store.heaps[0]);
    for (const uint32_t row : {model.head, model.float_logits, model.gradient})
      EXPECT_EQ(analysis.CategoryOf(row), Category::kLogits) << "copies " << copy_count << ", row " << row;
    EXPECT_EQ(analysis.CategoryOf(0), Category::kActivation);
    uint64_t slab_bytes = 0;
    uint64_t cliff_bytes = 0;
    for (const Mark& mark : FindMarks(analysis).marks) {
      if (mark.kind == MarkKind::kLogitsSlab) slab_bytes = mark.bytes;
      if (mark.kind == MarkKind::kBackwardCliff) cliff_bytes = mark.bytes;
    }
    EXPECT_EQ(slab_bytes, kLogitsBytes);
    EXPECT_EQ(cliff_bytes, (kLayerCount + 1) * kLayerBytes);  // the logits fall too, but are no activations
  }
}

TEST(Logits, OfAFailureBeforeTheBackwardAreKnownByTheirLines) {
  for (const bool goes_on : {false, true}) {  // with the next batch
    LanguageModelMaker maker(true);
    maker.Step(0);
    maker.FailInLoss();
    if (goes_on) maker.Step(0);
    const LanguageModel model = maker.Finish();
    const HeapAnalysis analysis = AnalyseHeap(model.store, model.store.heaps[0]);
    EXPECT_EQ(analysis.CategoryOf(model.head_of_failure), Category::kLogits) << goes_on;
    EXPECT_EQ(analysis.CategoryOf(model.head_of_failure - 1), Category::kActivation) << goes_on;
    EXPECT_EQ(analysis.CategoryOf(model.head), Category::kLogits) << goes_on;
  }
}

// Without stacks: the backward begins with a block as large as the largest at the end of the forward.
TEST(Logits, AreFoundBySizeAlone) {
  const LanguageModel model = MakeLanguageModel(0, false);
  const HeapAnalysis analysis = AnalyseHeap(model.store, model.store.heaps[0]);
  for (const uint32_t row : {model.head, model.float_logits, model.gradient})
    EXPECT_EQ(analysis.CategoryOf(row), Category::kLogits) << row;
}

// A convolution's output comes back in the backward too, but only behind the gradients of the classifier.
TEST(Logits, AreNotTheLastLayersOfAClassifier) {
  TestProgram program(false);
  std::vector<uint32_t> layers;
  for (int i = 0; i < 12; ++i) layers.push_back(program.Alloc((48 - 2 * i) * kMiB, {}));
  layers.push_back(program.Alloc(512 << 10, {}));  // pooled
  layers.push_back(program.Alloc(256 << 10, {}));  // one number a class
  const uint32_t root = program.Alloc(4, {});
  program.Free(program.Alloc(256 << 10, {}), {});
  program.Free(program.Alloc(512 << 10, {}), {});
  for (size_t i = layers.size(); i-- > 0;) {
    const uint32_t gradient = program.Alloc(program.SizeOf(layers[i]), {});
    program.Alloc(3 * kMiB, {});
    program.Free(layers[i], {});
    program.Free(gradient, {});
  }
  program.Free(root, {});
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  ASSERT_TRUE(analysis.timeline.Has(Phase::kBackward));
  for (const Category category : analysis.categories) EXPECT_NE(category, Category::kLogits);
}

}  // namespace
}  // namespace memstrata
