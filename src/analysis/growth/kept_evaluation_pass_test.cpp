#include "analysis/growth/kept_evaluation_pass.h"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr int kLayerCount = 6;

void Train(TestProgram& program) {
  const uint32_t batch = program.Alloc(4096, {"<module>@train.py:9", "train@train.py:1"});
  const uint32_t block = program.Alloc(1 << 20, {"<module>@train.py:9", "train@train.py:2",
                                                 "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  program.Free(
      program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"}), {});
  program.Free(block, {});
  program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "step@torch/optim/sgd.py:2"}),
               {"<module>@train.py:9", "train@train.py:4"});
  program.Free(batch, {"<module>@train.py:9", "train@train.py:5"});
}

// A forward that no backward follows; with a graph, the output of each layer stays, else that of the last one.
void Evaluate(TestProgram& program, bool has_graph) {
  std::vector<uint32_t> outputs;
  for (int layer = 0; layer < kLayerCount; ++layer) {
    outputs.push_back(program.Alloc(4 << 20, {"<module>@train.py:9", "train@train.py:6", "validate@train.py:30",
                                              "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
    if (layer == 0 || has_graph) continue;
    program.Free(outputs[static_cast<size_t>(layer) - 1],
                 {"<module>@train.py:9", "train@train.py:6", "validate@train.py:30",
                  "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
  }
}

std::vector<Finding> FindingsOf(bool has_graph) {
  TestProgram program;
  for (int step = 0; step < 6; ++step) {
    Train(program);
    if (step % 2 == 1) Evaluate(program, has_graph);
  }
  Train(program);
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_TRUE(analysis.timeline.Has(Phase::kEval));
  return ReportKeptEvaluation(analysis);
}

TEST(KeptEvaluation, AGraphOfEveryLayerIsSaid) {
  const std::vector<Finding> findings = FindingsOf(true);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].bytes, uint64_t{3 * kLayerCount * 4} << 20);
}

// As of a forward that failed and whose exception is kept: one finding tells of it.
TEST(KeptEvaluation, OfOneStepIsToldByGrowth) {
  TestProgram program;
  for (int step = 0; step < 10; ++step) {
    Train(program);
    if (step == 3) Evaluate(program, true);
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  EXPECT_EQ(analysis.growth.kind, GrowthKind::kOneOff);
  EXPECT_TRUE(ReportKeptEvaluation(analysis).empty());
}

TEST(KeptEvaluation, OutputsWithoutAGraphAreNone) { EXPECT_TRUE(FindingsOf(false).empty()); }

}  // namespace
}  // namespace memstrata
