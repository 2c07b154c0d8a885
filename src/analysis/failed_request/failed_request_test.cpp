#include <gtest/gtest.h>

#include "analysis/failed_request/failed_request_pass.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

// Five steps of a training; in one of them a request fails, and the program goes on with the next step, or ends.
Store MakeFailure(int failing_step, bool goes_on) {
  TestProgram program;
  for (int i = 0; i < 4; ++i) program.Alloc(1 << 20, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
  for (int step = 0; step < (goes_on ? 5 : failing_step + 1); ++step) {
    const uint32_t input = program.Alloc(4096, {"<module>@train.py:10", "to@data.py:3"});
    const uint32_t kept = program.Alloc(
        8 << 20, {"<module>@train.py:11", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"});
    if (step == failing_step) {
      program.Fail(64 << 20,
                   {"<module>@train.py:11", "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:9"});
    }
    const uint32_t root = program.Alloc(4, {"<module>@train.py:12", "_make_grads@torch/autograd/__init__.py:220"});
    const uint32_t gradient = program.Alloc(1 << 20, {});
    program.Free(kept, {});
    program.Free(root, {});
    program.Free(program.Alloc(1 << 20, {"<module>@train.py:13", "wrapper@torch/optim/optimizer.py:480"}),
                 {"<module>@train.py:13", "wrapper@torch/optim/optimizer.py:480"});
    program.Free(gradient, {"<module>@train.py:14", "zero_grad@torch/optim/optimizer.py:900"});
    program.Free(input, {"<module>@train.py:14"});
  }
  Store store = program.Finish();
  store.sources.emplace_back();  // whose settings of the allocator are asked for
  return store;
}

TEST(FailedRequest, ThatIsCaughtIsAWarning) {
  const Store store = MakeFailure(2, true);
  const std::vector<Finding> findings = ReportFailedRequest(AnalyseHeap(store, store.heaps[0]));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarning);
  EXPECT_NE(findings[0].text.find("The program went on: 2 steps begin after it."), std::string::npos)
      << findings[0].text;
}

TEST(FailedRequest, ThatEndsTheRunIsAnError) {
  const Store store = MakeFailure(4, false);
  const std::vector<Finding> findings = ReportFailedRequest(AnalyseHeap(store, store.heaps[0]));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kError);
  EXPECT_EQ(findings[0].text.find("went on"), std::string::npos);
}

TEST(FailedRequest, OfNoneThereIsNothingToSay) {
  const Store store = MakeTraining(3);
  EXPECT_TRUE(ReportFailedRequest(AnalyseHeap(store, store.heaps[0])).empty());
}

}  // namespace
}  // namespace memstrata
