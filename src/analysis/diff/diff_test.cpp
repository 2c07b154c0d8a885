#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

TEST(DiffPeaks, AddsUpToTheDifferenceOfThePeaks) {
  const Store before = MakeTraining(3);
  const Store after = MakeTraining(5, 3 << 20);
  const HeapDiff diff = DiffPeaks(AnalyseHeap(before, before.heaps[0]), AnalyseHeap(after, after.heaps[0]));
  int64_t sum = 0;
  for (const DiffRow& row : diff.rows) sum += row.DeltaBytes();
  EXPECT_EQ(sum, static_cast<int64_t>(diff.after_peak_bytes) - static_cast<int64_t>(diff.before_peak_bytes));
  EXPECT_EQ(diff.rows[0].before_bytes, 0U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), sum);  // the leak is the whole difference
}

TEST(DiffPeaks, MovedLinesAreTheSameOrigin) {
  TestProgram old_program;
  old_program.Alloc(100, {"<module>@train.py:10", "forward@model.py:3"});
  TestProgram new_program;
  new_program.Alloc(130, {"<module>@train.py:12", "forward@model.py:9"});
  const Store before = old_program.Finish();
  const Store after = new_program.Finish();
  const HeapDiff diff = DiffPeaks(AnalyseHeap(before, before.heaps[0]), AnalyseHeap(after, after.heaps[0]));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].before_bytes, 100U);
  EXPECT_EQ(diff.rows[0].after_bytes, 130U);
}

}  // namespace
}  // namespace memstrata
