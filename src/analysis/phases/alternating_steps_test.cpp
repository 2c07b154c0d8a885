#include "analysis/phases/alternating_steps.h"

#include <gtest/gtest.h>

#include "analysis/phases/label_by_order.h"
#include "analysis/phases/steps.h"
#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

/// A model of a program without call stacks: so many layers, a weight of the same size in each.
struct Model {
  int layer_count = 0;
  uint64_t weight_bytes = 0;
  std::vector<uint32_t> kept;       // by the forward, for the backward
  std::vector<uint32_t> gradients;  // not dropped yet
};

void Forward(TestProgram& program, Model& model) {
  for (int i = 0; i < model.layer_count; ++i) {
    program.Free(program.Alloc(5 << 20, {}), {});
    model.kept.push_back(program.Alloc(4 << 20, {}));
  }
}

void Backward(TestProgram& program, std::initializer_list<Model*> last_first) {
  const uint32_t root = program.Alloc(4, {});
  for (Model* model : last_first) {
    for (; !model->kept.empty(); model->kept.pop_back()) {
      program.Free(program.Alloc(6 << 20, {}), {});
      if (model->gradients.size() < static_cast<size_t>(model->layer_count))
        model->gradients.push_back(program.Alloc(model->weight_bytes, {}));
      program.Free(model->kept.back(), {});
    }
  }
  program.Free(root, {});
}

void Update(TestProgram& program, Model& model) {
  for (int i = 0; i < model.layer_count; ++i) program.Free(program.Alloc(model.weight_bytes, {}), {});
  for (; !model.gradients.empty(); model.gradients.pop_back()) program.Free(model.gradients.back(), {});
}

// A generator and its critic: the critic learns from real and from made pictures, while the forward of the generator
// waits for its own backward.
TEST(AlternatingSteps, ATurnOfTwoModelsThatTrainEachOtherIsOneStep) {
  constexpr int kTurns = 4;
  TestProgram program(false);
  for (int i = 0; i < 8; ++i) program.Alloc(i < 4 ? 300'000 : 700'000, {});
  std::vector<uint32_t> backwards;
  Model critic = {4, 300'000, {}, {}};
  Model generator = {8, 700'000, {}, {}};
  for (int turn = 0; turn < kTurns; ++turn) {
    program.Alloc(3 << 20, {});  // a batch
    Forward(program, critic);
    backwards.push_back(program.event_count());
    Backward(program, {&critic});
    Forward(program, generator);
    Forward(program, critic);
    backwards.push_back(program.event_count());
    Backward(program, {&critic});
    Update(program, critic);
    Forward(program, critic);
    backwards.push_back(program.event_count());
    Backward(program, {&critic, &generator});
    Update(program, generator);
    Update(program, critic);
  }
  const Store store = program.Finish();
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  for (size_t i = 0; i < backwards.size(); ++i) EXPECT_EQ(phases[backwards[i]], Phase::kBackward) << i;
  EXPECT_EQ(FindTimeline(store, store.heaps[0]).steps.size(), static_cast<size_t>(kTurns));
}

// Sharpness-aware minimisation: the first update of a turn keeps the weights that it leaves, the second restores them.
// The norm of the gradients comes with partial sums that follow each other like the blocks of a forward.
TEST(AlternatingSteps, AnUpdateToAWorsePointAndTheOneBackAreOneStep) {
  constexpr int kTurns = 5;
  TestProgram program(false);
  Model model = {8, 300'000, {}, {}};
  for (int i = 0; i < model.layer_count; ++i) program.Alloc(model.weight_bytes, {});
  uint32_t batch = kNone;
  std::vector<uint32_t> begins;
  std::vector<uint32_t> norms;
  std::vector<uint32_t> old_weights;
  for (int turn = 0; turn < kTurns; ++turn) {
    begins.push_back(program.event_count());
    const uint32_t next = program.Alloc(7168, {});
    if (batch != kNone) program.Free(batch, {});
    batch = next;
    for (const bool goes_back : {false, true}) {
      Forward(program, model);
      Backward(program, {&model});
      if (!goes_back) norms.push_back(program.event_count());
      for (int i = 0; i < 2 * model.layer_count && !goes_back; ++i) {
        const uint32_t partial = program.Alloc(i % 2 == 0 ? 160 : 128, {});  // 5 to 4, as the blocks of the forward
        program.Free(program.Alloc(4, {}), {});
        program.Free(partial, {});
      }
      for (; !old_weights.empty(); old_weights.pop_back()) program.Free(old_weights.back(), {});
      for (int i = 0; i < model.layer_count && !goes_back; ++i)
        old_weights.push_back(program.Alloc(model.weight_bytes, {}));
      for (; !model.gradients.empty(); model.gradients.pop_back()) program.Free(model.gradients.back(), {});
    }
  }
  const Store store = program.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  for (const uint32_t seq : norms) EXPECT_EQ(timeline.phase_of_event[seq], Phase::kOptimizer) << seq;
  ASSERT_EQ(timeline.steps.size(), begins.size());
  for (size_t step = 1; step + 1 < begins.size(); ++step)
    EXPECT_EQ(timeline.steps[step].begin_seq, begins[step]) << step;
}

// Three updates of a critic for one of the generator; of the last turn not all gradients are seen.
TEST(AlternatingSteps, TurnsAreKnownWhereOneIsUnlike) {
  constexpr int kTurns = 6;
  TestProgram program(false);
  Model critic = {6, 300'000, {}, {}};
  Model generator = {8, 700'000, {}, {}};
  for (int i = 0; i < critic.layer_count; ++i) program.Alloc(critic.weight_bytes, {});
  for (int i = 0; i < generator.layer_count; ++i) program.Alloc(generator.weight_bytes, {});
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int update = 0; update < 4; ++update) {
      Model& model = update == 3 ? generator : critic;
      Forward(program, model);
      if (turn == kTurns - 1 && update == 0) model.gradients.push_back(program.Alloc(model.weight_bytes, {}));
      Backward(program, {&model});
      Update(program, model);
    }
  }
  const Store store = program.Finish();
  EXPECT_EQ(FindTimeline(store, store.heaps[0]).steps.size(), static_cast<size_t>(kTurns));
}

TEST(AlternatingSteps, StepsOfOneModelAreLeftAsTheyAre) {
  const Store store = MakeTraining(9, 0, false);
  const std::vector<Phase> phases = LabelByOrder(store, store.heaps[0]);
  std::vector<uint32_t> begins;
  for (uint32_t seq = 1; seq < phases.size(); ++seq) {
    if (phases[seq] == Phase::kForward && phases[seq - 1] != Phase::kForward) begins.push_back(seq);
  }
  ASSERT_EQ(begins.size(), 9U);
  EXPECT_EQ(JoinAlternatingSteps(store, store.heaps[0], phases, begins), begins);
}

}  // namespace
}  // namespace memstrata
