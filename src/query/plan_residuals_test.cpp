#include "query/plan_residuals.h"

#include <gtest/gtest.h>

#include <map>

#include "plan/request_file.h"

namespace memstrata {
namespace {

constexpr uint64_t kGpt2Parameters = 124439808;

TEST(PlanResiduals, FillWhatTheBytesLeaveNoDoubtOf) {
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  MeasuredPeak peak;
  peak.capacity_bytes = uint64_t{24} << 30;
  peak.bytes_by_category = {
      {"parameter", 4 * kGpt2Parameters}, {"optimizer_state", 8 * kGpt2Parameters}, {"autocast_copy", 1000}};
  const auto filled = FillFromRecording(peak, request);
  ASSERT_EQ(filled.size(), 3u);
  EXPECT_EQ(request.workload.precision, plan::Precision::kBfloat16Autocast);
  EXPECT_EQ(request.workload.optimizer, plan::OptimizerName::kAdamW);
  EXPECT_EQ(request.card->visible_bytes, uint64_t{24} << 30);
}

TEST(PlanResiduals, TheSizeOfTheScoresTellsTheTokensOfAStep) {
  constexpr uint64_t kWords = 50257;
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  MeasuredPeak peak;
  peak.large_sizes = {8192 * kWords * 4, 8192 * kWords * 2, 768 * kWords * 4, 768 * kWords * 2, 12345678};
  EXPECT_EQ(StepTokens(peak, request.model), 8192);
  FillFromRecording(peak, request);
  EXPECT_EQ(request.workload.batch, 8);  // the model has 1,024 positions
  EXPECT_EQ(request.workload.sequence, 1024);
  plan::PlanRequest given;
  given.model = request.model;
  ASSERT_TRUE(plan::SetInput(given.workload, "batch", "16"));
  FillFromRecording(peak, given);
  EXPECT_EQ(given.workload.sequence, 512);
  peak.large_sizes = {768 * kWords * 4, 768 * kWords * 2,
                      8192 * kWords * 4};  // the table of words, and one width alone
  EXPECT_FALSE(StepTokens(peak, request.model));
}

TEST(PlanResiduals, GivenInputsWinAndDoubtfulOnesAreLeft) {
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  ASSERT_TRUE(plan::SetInput(request.workload, "precision", "fp16"));
  MeasuredPeak peak;
  peak.bytes_by_category = {{"parameter", 4 * kGpt2Parameters}, {"optimizer_state", 5 * kGpt2Parameters}};
  EXPECT_TRUE(FillFromRecording(peak, request).empty());
  EXPECT_EQ(request.workload.precision, plan::Precision::kFloat16);
}

TEST(PlanResiduals, OfAnotherMomentOnlyThePeakOfItsPhaseIsCompared) {
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  request.searches_largest = false;
  ASSERT_TRUE(plan::SetInput(request.workload, "sequence", "64"));
  const plan::Plan plan = *plan::MakePlan(request);
  ASSERT_EQ(plan.devices[0].peak_phase, "optimizer");
  MeasuredPeak peak;
  peak.allocated_bytes = 1000;
  peak.phase = "optimizer";
  EXPECT_FALSE(AreAtOtherMoments(plan, peak));
  peak.phase = "backward";
  EXPECT_TRUE(AreAtOtherMoments(plan, peak));
  std::map<std::string, PlanResidual> residuals;
  for (const PlanResidual& residual : FindResiduals(plan, peak)) residuals[residual.term] = residual;
  EXPECT_TRUE(residuals.at("parameter").planned_bytes);
  EXPECT_FALSE(residuals.at("temporary").planned_bytes);
  EXPECT_EQ(residuals.at("backward_peak").planned_bytes, plan.devices[0].phase_peaks.at("backward"));
  EXPECT_EQ(residuals.at("backward_peak").measured_bytes, 1000u);
}

TEST(PlanResiduals, AnAllocatorOfXlaIsOfJax) {
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  MeasuredPeak peak;
  peak.heap = "GPU_0_bfc";
  peak.capacity_bytes = uint64_t{144} << 30;
  FillFromRecording(peak, request);
  EXPECT_EQ(request.workload.engine, plan::Engine::kJax);
  ASSERT_TRUE(request.card);
  EXPECT_EQ(request.card->name, "a device of 144 GiB");
}

TEST(PlanResiduals, EachCategoryIsBesideItsTerms) {
  plan::PlanRequest request;
  request.model = *plan::DescribeAny("gpt2");
  request.searches_largest = false;
  ASSERT_TRUE(plan::SetInput(request.workload, "precision", "fp32"));
  ASSERT_TRUE(plan::SetInput(request.workload, "sequence", "64"));
  MeasuredPeak peak;
  peak.bytes_by_category = {{"parameter", 4 * kGpt2Parameters + 100}, {"unknown", 7}};
  const std::vector<PlanResidual> residuals = FindResiduals(*plan::MakePlan(request), peak);
  bool has_parameter = false;
  for (const PlanResidual& residual : residuals) {
    if (residual.term == "parameter") {
      has_parameter = true;
      EXPECT_EQ(residual.DifferenceBytes(), -100);
    }
    if (residual.term == "unknown") {
      EXPECT_FALSE(residual.planned_bytes);
      EXPECT_EQ(residual.measured_bytes, 7u);
    }
    if (residual.term == "framework_peak") {
      EXPECT_FALSE(residual.measured_bytes);
      EXPECT_FALSE(residual.DifferenceBytes());
    }
  }
  EXPECT_TRUE(has_parameter);
}

}  // namespace
}  // namespace memstrata
