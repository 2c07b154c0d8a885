#include "analysis/phases/label_by_order.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/phases/backward_passes.h"
#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

OrderEvents EventsOf(const Store& store) { return CollectOrderEvents(store, store.heaps[0]); }

TEST(OrderEvents, BlocksKnowTheirEnds) {
  TestProgram program(false);
  const uint32_t block = program.Alloc(4096, {});
  program.Alloc(8192, {});
  program.Free(block, {});
  const Store store = program.Finish();
  const OrderEvents events = EventsOf(store);
  ASSERT_EQ(events.size(), 3U);  // free_completed tells nothing new
  EXPECT_EQ(events[0].free_index, 2U);
  EXPECT_EQ(events[1].free_index, kNone);
  EXPECT_EQ(events[2].alloc_index, 0U);
  EXPECT_EQ(OrderIndexAt(events, 3), 3U);
}

TEST(BackwardPasses, AreTheLivesOfTheRootGradients) {
  const Store store = MakeTraining(3, 0, false);
  const OrderEvents events = EventsOf(store);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), 3U);
  for (const BackwardPass& pass : passes) {
    EXPECT_LT(pass.forward_begin, pass.begin);
    EXPECT_EQ(events[pass.begin].size_bytes, 4U);
    EXPECT_EQ(events[pass.end - 1].alloc_index, pass.begin);
  }
}

TEST(BackwardPasses, AScalarInTheForwardStartsNone) {
  TestProgram program(false);
  std::vector<uint32_t> kept;
  for (int i = 0; i < 8; ++i) {
    kept.push_back(program.Alloc(1 << 20, {}));
    kept.push_back(program.Alloc(8, {}));  // state of a random generator, saved for the backward
  }
  const uint32_t root = program.Alloc(4, {});
  for (; !kept.empty(); kept.pop_back()) {
    program.Free(program.Alloc(2 << 20, {}), {});
    program.Free(kept.back(), {});
  }
  program.Free(root, {});
  const Store store = program.Finish();
  const std::vector<BackwardPass> passes = FindBackwardPasses(EventsOf(store), kNone);
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].begin, 16U);
}

// tensor.backward(gradient) starts with a block of any size; what else lives while the backward runs is no root.
TEST(BackwardPasses, AGradientOfAnySizeStartsOneWhereNoScalarDoes) {
  TestProgram program(false);
  constexpr int kLayers = 10;
  std::vector<uint32_t> roots;
  std::vector<uint32_t> gradients;
  for (int step = 0; step < 3; ++step) {
    const uint32_t batch = program.Alloc(3 << 20, {});
    std::vector<uint32_t> kept;
    for (int i = 0; i < kLayers; ++i) {
      kept.push_back(program.Alloc(4 << 20, {}));
      program.Free(program.Alloc(5 << 20, {}), {});
    }
    roots.push_back(program.event_count());
    const uint32_t root = program.Alloc(4096, {});
    for (; !kept.empty(); kept.pop_back()) {
      gradients.push_back(program.Alloc(1 << 20, {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {});
    program.Free(batch, {});
    for (; !gradients.empty(); gradients.pop_back()) program.Free(gradients.back(), {});
  }
  const Store store = program.Finish();
  const OrderEvents events = EventsOf(store);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), roots.size());
  for (size_t i = 0; i < roots.size(); ++i) EXPECT_EQ(events[passes[i].begin].seq, roots[i]) << i;
}

// A pipeline: all forwards run before the backwards, and each backward goes on in an earlier part of the model with the
// gradient of its input.
TEST(BackwardPasses, OfAPipelineAreFoundWhileOtherForwardsWait) {
  TestProgram program(false);
  constexpr int kLayers = 10;
  constexpr int kMicroBatches = 4;
  std::vector<uint32_t> begins;
  std::vector<std::vector<uint32_t>> kept(kMicroBatches);
  for (std::vector<uint32_t>& of_batch : kept) {
    for (int i = 0; i < 2 * kLayers; ++i) of_batch.push_back(program.Alloc(4 << 20, {}));
  }
  const auto unwind = [&](std::vector<uint32_t>& blocks) {
    for (int i = 0; i < kLayers; ++i, blocks.pop_back()) {
      program.Free(program.Alloc(1 << 20, {}), {});
      program.Free(blocks.back(), {});
    }
  };
  for (std::vector<uint32_t>& of_batch : kept) {
    begins.push_back(program.event_count());
    const uint32_t root = program.Alloc(4, {});
    unwind(of_batch);
    const uint32_t handed_on = program.Alloc(2 << 20, {});
    program.Free(root, {});
    begins.push_back(program.event_count());
    unwind(of_batch);
    program.Free(handed_on, {});
  }
  const Store store = program.Finish();
  const OrderEvents events = EventsOf(store);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), begins.size());
  for (size_t i = 0; i < begins.size(); ++i) EXPECT_EQ(events[passes[i].begin].seq, begins[i]) << i;
}

// The optimizer runs on the host: each gradient goes there, the youngest first, and the new weight comes back.
TEST(BackwardPasses, AnUpdateThatGivesBackOneGradientAfterTheOtherIsNone) {
  TestProgram program(false);
  constexpr int kLayers = 10;
  constexpr int kSteps = 3;
  std::vector<uint32_t> roots;
  for (int i = 0; i < kLayers; ++i) program.Alloc(1 << 20, {});
  for (int step = 0; step < kSteps; ++step) {
    std::vector<uint32_t> kept;
    std::vector<uint32_t> gradients;
    for (int i = 0; i < kLayers; ++i) kept.push_back(program.Alloc(4 << 20, {}));
    roots.push_back(program.event_count());
    const uint32_t root = program.Alloc(4, {});
    for (; !kept.empty(); kept.pop_back()) {
      gradients.push_back(program.Alloc(1 << 20, {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {});
    for (; !gradients.empty(); gradients.pop_back()) {
      program.Free(gradients.back(), {});
      program.Free(program.Alloc(1 << 20, {}), {});
    }
  }
  const Store store = program.Finish();
  const OrderEvents events = EventsOf(store);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), roots.size());
  for (size_t i = 0; i < roots.size(); ++i) EXPECT_EQ(events[passes[i].begin].seq, roots[i]) << i;
}

// A critic of three layers beside a larger model: its blocks have the sizes of its weights, and it gives back two.
TEST(BackwardPasses, OfASmallModelAreKnownByWhatComesAgain) {
  TestProgram program(false);
  std::vector<uint32_t> roots;
  const auto train = [&](int layer_count, uint64_t size_bytes, int kept_count) {
    std::vector<uint32_t> kept;
    std::vector<uint32_t> gradients;
    for (int i = 0; i < kept_count; ++i) kept.push_back(program.Alloc(size_bytes, {}));
    roots.push_back(program.event_count());
    const uint32_t root = program.Alloc(4, {});
    for (int i = 0; i < layer_count; ++i) {
      gradients.push_back(program.Alloc(size_bytes, {}));
      if (kept.empty()) continue;
      program.Free(kept.back(), {});
      kept.pop_back();
    }
    program.Free(root, {});
    for (const uint32_t gradient : gradients) program.Free(gradient, {});
  };
  for (int i = 0; i < 8; ++i) program.Alloc(i < 4 ? 300'000 : 700'000, {});
  for (int turn = 0; turn < 4; ++turn) {
    train(4, 300'000, 2);
    train(8, 700'000, 8);
  }
  const Store store = program.Finish();
  const OrderEvents events = EventsOf(store);
  const std::vector<BackwardPass> passes = FindBackwardPasses(events, kNone);
  ASSERT_EQ(passes.size(), roots.size());
  for (size_t i = 0; i < roots.size(); ++i) EXPECT_EQ(events[passes[i].begin].seq, roots[i]) << i;
}

TEST(BackwardPasses, InferenceHasNone) {
  TestProgram program(false);
  for (int batch = 0; batch < 10; ++batch) {
    const uint32_t metric = program.Alloc(4, {});
    uint32_t input = program.Alloc(1 << 20, {});
    for (int layer = 0; layer < 12; ++layer) {
      const uint32_t output = program.Alloc(1 << 20, {});
      program.Free(input, {});
      input = output;
    }
    program.Free(input, {});
    program.Free(metric, {});
  }
  const Store store = program.Finish();
  EXPECT_TRUE(FindBackwardPasses(EventsOf(store), kNone).empty());
}

// Weights that are made in one precision and kept in another, a cache of fixed size, and calls that keep nothing.
TEST(LabelByOrder, InferenceWithWeightsThatAreConvertedIsLoadedFirst) {
  TestProgram program(false);
  std::vector<uint32_t> wide;
  std::vector<uint32_t> lasting;
  for (int i = 0; i < 40; ++i) wide.push_back(program.Alloc(4 << 20, {}));
  for (const uint32_t weight : wide) {
    lasting.push_back(program.Alloc(2 << 20, {}));
    program.Free(weight, {});
  }
  for (int i = 0; i < 8; ++i) lasting.push_back(program.Alloc(8 << 20, {}));
  const uint32_t load_end = program.event_count();
  for (int call = 0; call < 20; ++call) {
    uint32_t input = program.Alloc(1 << 20, {});
    for (int layer = 0; layer < 12; ++layer) {
      const uint32_t output = program.Alloc(1 << 20, {});
      program.Free(input, {});
      input = output;
    }
    program.Free(input, {});
  }
  for (const uint32_t block : lasting) program.Free(block, {});
  const Store store = program.Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  EXPECT_EQ(phases[0], Phase::kLoad);
  EXPECT_EQ(phases[load_end - 1], Phase::kLoad);
  EXPECT_EQ(phases[load_end], Phase::kEval);
}

// A generation between two updates: many allocations of other sizes, and no gradient is given back in them.
TEST(LabelByOrder, AGenerationAfterAnUpdateIsNoOptimizer) {
  TestProgram program(false);
  std::vector<uint32_t> generations;
  for (int step = 0; step < 3; ++step) {
    std::vector<uint32_t> kept;
    std::vector<uint32_t> gradients;
    for (uint64_t i = 1; i <= 8; ++i) kept.push_back(program.Alloc((i << 20) + 512, {}));
    const uint32_t root = program.Alloc(4, {});
    for (uint64_t i = 8; i >= 1; --i, kept.pop_back()) {
      gradients.push_back(program.Alloc(i << 20, {}));
      program.Free(kept.back(), {});
    }
    program.Free(root, {});
    for (uint64_t i = 1; i <= 8; ++i) program.Free(program.Alloc(i << 20, {}), {});
    for (const uint32_t gradient : gradients) program.Free(gradient, {});
    generations.push_back(program.event_count() + 20);
    for (int token = 0; token < 60; ++token) {
      program.Free(program.Alloc(96 << 10, {}), {});
      program.Free(program.Alloc(1 << 20, {}), {});  // as large as a gradient by chance
      for (int i = 0; i < 6; ++i) program.Free(program.Alloc(80 << 10, {}), {});
    }
  }
  const Store store = program.Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t seq : generations) EXPECT_EQ(phases[seq], Phase::kEval) << seq;
}

// Any order of events is answered, and the passes never overlap.
TEST(BackwardPasses, AreDisjointOnAnyProgram) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    TestProgram program(false);
    std::vector<uint32_t> live;
    for (int i = 0; i < 300; ++i) {
      if (live.empty() || random() % 2 == 0) {
        live.push_back(program.Alloc(random() % 3 == 0 ? 4 : 1 << (random() % 20), {}));
      } else {
        const size_t at = random() % live.size();
        program.Free(live[at], {});
        live.erase(live.begin() + static_cast<ptrdiff_t>(at));
      }
    }
    const Store store = program.Finish();
    const OrderEvents events = EventsOf(store);
    uint32_t end = 0;
    for (const BackwardPass& pass : FindBackwardPasses(events, seed % 4 == 0 ? 150 : kNone)) {
      EXPECT_GE(pass.forward_begin, end);
      EXPECT_LE(pass.forward_begin, pass.begin);
      EXPECT_LT(pass.begin, pass.end);
      EXPECT_LE(pass.end, events.size());
      end = pass.end;
    }
    EXPECT_EQ(LabelByOrder(store, store.heaps[0]).size(), store.heaps[0].events.size());
  }
}

// The phases of a training are the same with call stacks and without, except that the loss is not told from the
// forward.
TEST(LabelByOrder, FindsWhatStacksShow) {
  const Store with = MakeTraining(3);
  const Store without = MakeTraining(3, 0, false);
  const Timeline by_stack = FindTimeline(with, with.heaps[0]);
  const Timeline by_order = FindTimeline(without, without.heaps[0]);
  EXPECT_EQ(by_order.basis, PhaseBasis::kOrder);
  ASSERT_EQ(by_order.steps.size(), 3U);
  for (uint32_t seq = 0; seq < by_stack.phase_of_event.size(); ++seq) {
    Phase expected = by_stack.phase_of_event[seq];
    if (expected == Phase::kLoss) expected = Phase::kForward;
    EXPECT_EQ(kPhaseNames[static_cast<size_t>(by_order.phase_of_event[seq])],
              kPhaseNames[static_cast<size_t>(expected)])
        << "event " << seq;
  }
}

TEST(LabelByOrder, ARecomputeRepeatsItsForward) {
  TestProgram program(false);
  constexpr int kLayers = 6;
  constexpr uint64_t kSizes[] = {3 << 20, 1 << 20, 4 << 20, 2 << 20, 5 << 20};
  for (int i = 0; i < 4; ++i) program.Alloc(7 << 20, {});
  std::vector<uint32_t> inputs;
  for (int layer = 0; layer < kLayers; ++layer) {
    inputs.push_back(program.Alloc(1 << 16, {}));
    std::vector<uint32_t> temporaries;
    for (const uint64_t size : kSizes) temporaries.push_back(program.Alloc(size, {}));
    for (const uint32_t block : temporaries) program.Free(block, {});
  }
  const uint32_t root = program.Alloc(4, {});
  std::vector<uint32_t> recomputed_rows;
  for (; !inputs.empty(); inputs.pop_back()) {
    std::vector<uint32_t> again;
    for (const uint64_t size : kSizes) again.push_back(program.Alloc(size, {}));
    recomputed_rows.insert(recomputed_rows.end(), again.begin(), again.end());
    for (; !again.empty(); again.pop_back()) {
      program.Free(program.Alloc(9 << 20, {}), {});
      program.Free(again.back(), {});
    }
    program.Free(inputs.back(), {});
  }
  program.Free(root, {});
  const Store store = program.Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t row : recomputed_rows) EXPECT_EQ(phases[store.allocations.alloc_seq[row]], Phase::kRecompute);
  EXPECT_EQ(recomputed_rows.size(), kLayers * std::size(kSizes));
}

/// A training of four layers whose update makes a temporary for each gradient and drops all gradients.
class OrderedTraining {
 public:
  static constexpr uint64_t kWeights[] = {3 << 20, 5 << 20, 3 << 19, 5 << 19};

  void Load() {
    for (const uint64_t size : kWeights) program_.Alloc(size, {});
  }
  std::vector<uint32_t> Forward(uint64_t batch) {
    std::vector<uint32_t> kept;
    const uint32_t input = program_.Alloc(batch * 4096, {});
    if (input_ != kNone) program_.Free(input_, {});
    input_ = input;
    for (const uint64_t size : kWeights) {
      kept.push_back(program_.Alloc(batch * (size / 7 + 512), {}));
      program_.Free(program_.Alloc(batch * (size / 3 + 512), {}), {});
      kept.push_back(program_.Alloc(batch * (size / 9 + 512), {}));
    }
    return kept;
  }
  /// The first `static_count` blocks of the forward stay.
  std::vector<uint32_t> Backward(std::vector<uint32_t> kept, size_t static_count) {
    std::vector<uint32_t> gradients;
    const uint32_t root = program_.Alloc(4, {});
    for (size_t layer = std::size(kWeights); layer-- > 0;) {
      gradients.push_back(program_.Alloc(kWeights[layer], {}));
      for (int i = 0; i < 2; ++i, kept.pop_back()) {
        if (kept.size() > static_count) program_.Free(kept.back(), {});
      }
    }
    program_.Free(root, {});
    return gradients;
  }
  void Update(const std::vector<uint32_t>& gradients) {
    std::vector<uint32_t> temporaries;
    for (const uint64_t size : kWeights) temporaries.push_back(program_.Alloc(size, {}));
    for (const uint32_t block : temporaries) program_.Free(block, {});
    for (const uint32_t block : gradients) program_.Free(block, {});
  }
  void Step() { Update(Backward(Forward(64), 0)); }

  TestProgram& program() { return program_; }

 private:
  TestProgram program_{false};
  uint32_t input_ = kNone;
};

uint32_t EventCount(const Store& store) { return static_cast<uint32_t>(store.events.size()); }

TEST(LabelByOrder, AForwardThatFailedWithALargerBatchIsNoUpdate) {
  OrderedTraining training;
  training.Load();
  training.Step();
  training.Step();
  const std::vector<uint32_t> left = training.Forward(256);  // an exception keeps it
  training.Step();
  const Store store = training.program().Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t row : left) EXPECT_EQ(phases[store.allocations.alloc_seq[row]], Phase::kEval) << row;
}

TEST(LabelByOrder, ABackwardThatGivesLittleBackIsKnownByItsGradients) {
  OrderedTraining training;
  training.Load();
  training.Step();
  training.Step();
  const std::vector<uint32_t> gradients = training.Backward(training.Forward(64), 6);
  const Store store = training.program().Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t row : gradients) EXPECT_EQ(phases[store.allocations.alloc_seq[row]], Phase::kBackward) << row;
}

TEST(LabelByOrder, AFailedUpdateGivesItsTemporariesBack) {
  OrderedTraining training;
  training.Load();
  training.Step();
  const std::vector<uint32_t> gradients = training.Backward(training.Forward(64), 0);
  std::vector<uint32_t> temporaries;
  for (const uint64_t size : OrderedTraining::kWeights) temporaries.push_back(training.program().Alloc(size, {}));
  training.program().Fail(1 << 30, {});
  for (const uint32_t block : temporaries) training.program().Free(block, {});
  training.program().Free(gradients[0], {});
  const Store store = training.program().Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t row : temporaries)
    EXPECT_EQ(phases[store.allocations.free_requested_seq[row]], Phase::kOptimizer) << row;
  EXPECT_EQ(phases[EventCount(store) - 1], Phase::kOther);
}

TEST(LabelByOrder, WhatTheProgramKeepsAfterAnUpdateIsNotOfIt) {
  OrderedTraining training;
  training.Load();
  std::vector<uint32_t> kept;
  for (int step = 0; step < 3; ++step) {
    training.Step();
    kept.push_back(training.program().Alloc(20'480'000, {}));
  }
  const Store store = training.program().Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (const uint32_t row : kept) EXPECT_EQ(phases[store.allocations.alloc_seq[row]], Phase::kOther) << row;
}

}  // namespace
}  // namespace memstrata
