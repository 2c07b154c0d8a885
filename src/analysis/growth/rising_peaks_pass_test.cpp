#include "analysis/growth/rising_peaks_pass.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

void Step(TestProgram& program, uint64_t activation_bytes) {
  const uint32_t block = program.Alloc(
      activation_bytes, {"<module>@train.py:9", "train@train.py:2", "forward@torch/nn/modules/linear.py:100"});
  program.Free(
      program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"}), {});
  program.Free(block, {});
  program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "step@torch/optim/sgd.py:2"}),
               {"<module>@train.py:9", "train@train.py:4"});
}

size_t FindingsOf(TestProgram& program) {
  const Store store = program.Finish();
  return ReportRisingPeaks(AnalyseHeap(store, store.heaps[0])).size();
}

TEST(RisingPeaks, TensorsThatGetLargerAreSaid) {
  TestProgram program;
  for (uint64_t step = 0; step < 8; ++step) Step(program, (10 + 2 * step) << 20);
  EXPECT_EQ(FindingsOf(program), 1U);
}

// A flat line after two steps that rise: states come one after the other.
TEST(RisingPeaks, PeaksThatLevelOffAreQuiet) {
  TestProgram program;
  for (const uint64_t size : {10, 14, 20, 26, 26, 26, 26, 26, 26, 26, 26, 26}) Step(program, size << 20);
  EXPECT_EQ(FindingsOf(program), 0U);
}

}  // namespace
}  // namespace memstrata
