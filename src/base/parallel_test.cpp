#include "base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace memstrata {
namespace {

TEST(ParallelTest, RunsBoth) {
  int first = 0;
  int second = 0;
  RunBoth([&] { first = 1; }, [&] { second = 2; });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(ParallelTest, PassesOnWhatEitherThrows) {
  int other = 0;
  EXPECT_THROW(RunBoth([] { throw std::runtime_error("first"); }, [&] { other = 1; }), std::runtime_error);
  EXPECT_EQ(other, 1);
  EXPECT_THROW(RunBoth([&] { other = 2; }, [] { throw std::runtime_error("second"); }), std::runtime_error);
  EXPECT_EQ(other, 2);
}

TEST(ParallelTest, CallsEachOnce) {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<int> calls(count, 0);
    ForEachInParallel(count, [&](size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

}  // namespace
}  // namespace memstrata
