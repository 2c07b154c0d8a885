#include "query/phase_confidence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

std::vector<double> ConfidencesOf(const Store& store) {
  return FindPhaseConfidences(AnalyseHeap(store, store.heaps[0]));
}

TEST(PhaseConfidence, IsFullWhereEveryStackNamesThePhase) {
  const Store store = MakeTraining(4);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const std::vector<double> confidences = FindPhaseConfidences(analysis);
  ASSERT_EQ(confidences.size(), analysis.timeline.phases.size());
  for (size_t i = 0; i < confidences.size(); ++i) {
    // The batch comes by a line of the program itself, known only by where it lies.
    const double expected = analysis.timeline.phases[i].phase == Phase::kInput ? 0.5 : 1.0;
    EXPECT_DOUBLE_EQ(confidences[i], expected) << i;
  }
}

TEST(PhaseConfidence, ByOrderRisesWhenStepsRepeat) {
  const Store one = MakeTraining(1, 0, /*keeps_stacks=*/false);
  const Store four = MakeTraining(4, 0, /*keeps_stacks=*/false);
  const std::vector<double> of_one = ConfidencesOf(one);
  const std::vector<double> of_four = ConfidencesOf(four);
  EXPECT_LE(*std::max_element(of_one.begin(), of_one.end()), 0.5);
  EXPECT_GT(*std::max_element(of_four.begin(), of_four.end()), 0.9);
}

TEST(PhaseConfidence, WhatTheProgramNamesIsSure) {
  TestProgram program(/*keeps_stacks=*/false);
  for (int step = 0; step < 3; ++step) {
    const uint32_t begin = program.event_count();
    const uint32_t block = program.Alloc(1 << 20, {});
    program.Annotate("forward", begin, program.event_count());
    program.Free(block, {});
  }
  const Store store = program.Finish();
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const std::vector<double> confidences = FindPhaseConfidences(analysis);
  for (size_t i = 0; i < confidences.size(); ++i) {
    if (analysis.timeline.phases[i].phase == Phase::kForward) EXPECT_DOUBLE_EQ(confidences[i], 1.0);
  }
}

}  // namespace
}  // namespace memstrata
