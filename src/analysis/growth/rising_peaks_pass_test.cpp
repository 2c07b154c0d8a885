#include "analysis/growth/rising_peaks_pass.h"

#include <gtest/gtest.h>

#include "analysis/growth/test_step.h"

namespace memstrata {
namespace {

size_t FindingsOf(TestProgram& program) {
  const Store store = program.Finish();
  return ReportRisingPeaks(AnalyseHeap(store, store.heaps[0])).size();
}

TEST(RisingPeaks, TensorsThatGetLargerAreSaid) {
  TestProgram program;
  for (uint64_t step = 0; step < 8; ++step) TrainStep(program, (10 + 2 * step) << 20);
  EXPECT_EQ(FindingsOf(program), 1U);
}

// A flat line after two steps that rise: states come one after the other.
TEST(RisingPeaks, PeaksThatLevelOffAreQuiet) {
  TestProgram program;
  for (const uint64_t size : {10, 14, 20, 26, 26, 26, 26, 26, 26, 26, 26, 26}) TrainStep(program, size << 20);
  EXPECT_EQ(FindingsOf(program), 0U);
}

}  // namespace
}  // namespace memstrata
