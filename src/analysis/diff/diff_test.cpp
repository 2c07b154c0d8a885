#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include "analysis/diff/regressions.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

std::vector<HeapAnalysis> Analyse(std::initializer_list<const Store*> stores) {
  std::vector<HeapAnalysis> analyses;
  for (const Store* store : stores) analyses.push_back(AnalyseHeap(*store, store->heaps[0]));
  return analyses;
}

TEST(DiffPeaks, AddsUpToTheDifferenceOfThePeaks) {
  const Store before = MakeTraining(3);
  const Store after = MakeTraining(5, 3 << 20);
  const HeapDiff diff = DiffPeaks(Analyse({&before, &after}));
  int64_t sum = 0;
  for (const DiffRow& row : diff.rows) sum += row.DeltaBytes();
  EXPECT_EQ(sum, diff.DeltaBytes());
  EXPECT_EQ(diff.rows[0].BeforeBytes(), 0U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), sum);  // the leak is the whole difference
}

TEST(DiffPeaks, MovedLinesAreTheSameOrigin) {
  TestProgram old_program;
  old_program.Alloc(100, {"<module>@train.py:10", "forward@model.py:3"});
  TestProgram new_program;
  new_program.Alloc(130, {"<module>@train.py:12", "forward@model.py:9"});
  const Store before = old_program.Finish();
  const Store after = new_program.Finish();
  const HeapDiff diff = DiffPeaks(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].BeforeBytes(), 100U);
  EXPECT_EQ(diff.rows[0].AfterBytes(), 130U);
}

TEST(DiffPeaks, AMovedFileIsTheSameOrigin) {
  TestProgram old_program;
  old_program.Alloc(100, {"<module>@train.py:10", "forward@model.py:3"});
  TestProgram new_program;
  new_program.Alloc(130, {"<module>@main.py:12", "forward@layers/model.py:9"});
  const Store before = old_program.Finish();
  const Store after = new_program.Finish();
  const HeapDiff diff = DiffPeaks(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), 30);
}

TEST(DiffPeaks, ARowOfRecordingsIsATrend) {
  std::vector<Store> stores;
  for (const uint64_t size_bytes : {100U, 100U, 400U}) {
    TestProgram program;
    program.Alloc(size_bytes, {"<module>@train.py:10"});
    stores.push_back(program.Finish());
  }
  const std::vector<HeapAnalysis> analyses = Analyse({&stores[0], &stores[1], &stores[2]});
  const HeapDiff diff = DiffPeaks(analyses);
  EXPECT_EQ(diff.rows[0].bytes, (std::vector<uint64_t>{100, 100, 400}));
  const std::vector<Regression> sentences = DescribeDiff(analyses, diff, 5);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].text, "The live peak grows by 300 B from recording 2 to 3.");
  EXPECT_EQ(sentences[1].bytes, 300);
}

}  // namespace
}  // namespace memstrata
