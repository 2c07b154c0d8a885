#include "analysis/marks/marks.h"

#include <gtest/gtest.h>

#include "analysis/next_peak/next_peak.h"
#include "analysis/test_program.h"

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
