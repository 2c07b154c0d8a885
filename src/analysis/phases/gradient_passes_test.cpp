#include "analysis/phases/gradient_passes.h"

#include <gtest/gtest.h>

#include "analysis/phases/backward_passes.h"
#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr int kLayers = 8;
constexpr uint64_t kActivationBytes = 5 << 20;

uint64_t WeightBytes(int layer) { return 1'000'000 + 4096 * static_cast<uint64_t>(layer); }

void LoadModel(TestProgram& program) {
  for (int layer = 0; layer < kLayers; ++layer) program.Alloc(WeightBytes(layer), {});
}

// What the forward saves goes to the host at once, and comes back for its part of the backward.
TEST(GradientPasses, OfActivationsOnTheHostAreKnownByTheirGradients) {
  constexpr size_t kSteps = 4;
  TestProgram program(false);
  LoadModel(program);
  std::vector<uint32_t> forwards;
  std::vector<uint32_t> backwards;
  for (size_t step = 0; step < kSteps; ++step) {
    forwards.push_back(program.event_count());
    for (int layer = 0; layer < kLayers; ++layer) program.Free(program.Alloc(kActivationBytes, {}), {});
    const uint32_t loss = program.Alloc(4, {});
    backwards.push_back(program.event_count());
    const uint32_t root = program.Alloc(4, {});
    std::vector<uint32_t> gradients;
    for (int layer = kLayers; layer-- > 0;) {
      const uint32_t saved = program.Alloc(kActivationBytes, {});
      gradients.push_back(program.Alloc(WeightBytes(layer), {}));
      program.Free(saved, {});
    }
    program.Free(root, {});
    for (int layer = 0; layer < kLayers; ++layer) program.Free(program.Alloc(WeightBytes(layer), {}), {});
    for (const uint32_t gradient : gradients) program.Free(gradient, {});
    program.Free(loss, {});
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  EXPECT_EQ(timeline.steps.size(), kSteps);
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_EQ(timeline.phase_of_event[forwards[step]], Phase::kForward) << step;
    EXPECT_EQ(timeline.phase_of_event[backwards[step]], Phase::kBackward) << step;
  }
  EXPECT_FALSE(timeline.Has(Phase::kRecompute));
  EXPECT_TRUE(timeline.Has(Phase::kOptimizer));
}

// first.backward(retain_graph=True); second.backward()
TEST(GradientPasses, ABackwardThatKeepsItsGraphIsOne) {
  TestProgram program(false);
  LoadModel(program);
  std::vector<uint32_t> kept;
  for (int layer = 0; layer < kLayers; ++layer) kept.push_back(program.Alloc(kActivationBytes, {}));
  const uint32_t first = program.Alloc(4, {});
  std::vector<uint32_t> gradients;
  for (int layer = kLayers; layer-- > 0;) {
    program.Free(program.Alloc(kActivationBytes, {}), {});
    gradients.push_back(program.Alloc(WeightBytes(layer), {}));
  }
  program.Free(first, {});
  const uint32_t second = program.Alloc(4, {});
  for (; !kept.empty(); kept.pop_back()) {
    program.Free(program.Alloc(kActivationBytes, {}), {});
    program.Free(kept.back(), {});
  }
  program.Free(second, {});
  for (const uint32_t gradient : gradients) program.Free(gradient, {});
  const Store store = program.Finish();
  const OrderEvents events = CollectOrderEvents(store, store.heaps[0]);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].forward_begin, static_cast<uint32_t>(kLayers));
  EXPECT_TRUE(passes[0].gives_back);
}

// An optimizer makes its states in the order of the weights, and nothing else; a copy of the model has no scalar.
TEST(GradientPasses, StatesOfAnOptimizerAreNoGradients) {
  TestProgram program(false);
  LoadModel(program);
  const uint32_t norm = program.Alloc(4, {});
  for (int layer = 0; layer < kLayers; ++layer) {
    program.Alloc(WeightBytes(layer), {});
    program.Free(program.Alloc(kActivationBytes, {}), {});
  }
  program.Free(norm, {});
  const Store store = program.Finish();
  EXPECT_TRUE(FindGradientPasses(CollectOrderEvents(store, store.heaps[0])).empty());
}

// total = total + model(x): each turn keeps its graph, whose blocks are no weights of the next.
TEST(GradientPasses, GraphsThatALoopKeepsAreNoGradients) {
  TestProgram program(false);
  LoadModel(program);
  uint32_t total = program.Alloc(4, {});
  for (int turn = 0; turn < 8; ++turn) {
    for (int layer = 0; layer < kLayers; ++layer) {
      program.Alloc(kActivationBytes + WeightBytes(layer), {});
      program.Free(program.Alloc(2 * kActivationBytes, {}), {});
    }
    const uint32_t sum = program.Alloc(4, {});
    program.Free(total, {});
    total = sum;
  }
  const Store store = program.Finish();
  EXPECT_TRUE(FindGradientPasses(CollectOrderEvents(store, store.heaps[0])).empty());
}

}  // namespace
}  // namespace memstrata
