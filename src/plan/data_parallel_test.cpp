// One rank of PyTorch's data parallelism, beside what torch 2.7.1 and transformers 4.57.6 allocated on a simulated H100
// (memstrata plan --dryrun, eight ranks).

#include <gtest/gtest.h>

#include <cmath>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

constexpr double kTolerance = 0.001;

void ExpectPeak(const Plan& plan, const char* phase, double measured_bytes) {
  const DevicePlan& device = plan.WorstDevice();
  EXPECT_EQ(device.peak_phase, phase);
  EXPECT_NEAR(static_cast<double>(device.framework_peak_bytes) / measured_bytes, 1.0, kTolerance);
}

uint64_t LineOf(const Plan& plan, std::string_view term) {
  for (const Line& line : plan.WorstDevice().lines) {
    if (line.term == term) return line.bytes;
  }
  return 0;
}

TEST(DataParallel, BucketsStayBesideTheGradients) {
  const Plan plan = *MakePlan(Request(
      "llama-3.2-1b", {{"batch", "1"}, {"sequence", "1024"}, {"precision", "bf16"}, {"parallel", "dp=8"}}, "h100-80g"));
  EXPECT_EQ(LineOf(plan, "communication"), plan.devices[0].states.gradients);
  ExpectPeak(plan, "optimizer", 14'901'092'864);
}

TEST(DataParallel, BucketsAreOfTrainedParametersAlone) {
  const Plan plan = *MakePlan(Request("llama-3.2-1b", {{"lora-rank", "16"}, {"parallel", "dp=8"}}));
  EXPECT_EQ(LineOf(plan, "communication"), plan.devices[0].states.gradients);
  EXPECT_LT(LineOf(plan, "communication"), plan.devices[0].states.parameters / 10);
}

TEST(DataParallel, ShardedLayersAreGatheredOneByOne) {
  const Plan plan = *MakePlan(
      Request("llama-3.2-1b",
              {{"batch", "1"}, {"sequence", "1024"}, {"precision", "bf16"}, {"parallel", "dp=8,zero=3"}}, "h100-80g"));
  EXPECT_EQ(plan.devices[0].states.parameters, 308'953'600u);
  EXPECT_EQ(plan.devices[0].states.gradients, 308'953'600u);
  EXPECT_EQ(plan.devices[0].states.optimizer_state, 617'907'200u);
  ExpectPeak(plan, "backward", 5'018'856'448);
}

// The vocabulary of 50257 is no multiple of eight: ranks hold rows that only fill up. Autocast gathers 16 bits.
TEST(DataParallel, PartsAreFilledUpToOneSize) {
  const Plan plan = *MakePlan(Request(
      "gpt2", {{"batch", "4"}, {"sequence", "1024"}, {"precision", "bf16_autocast"}, {"parallel", "dp=8,zero=3"}},
      "h100-80g"));
  EXPECT_EQ(plan.devices[0].states.parameters, 62'222'592u);
  ExpectPeak(plan, "backward", 6'260'824'576);
}

// Communicators are outside of the allocator: a job that fits has room for them too.
TEST(DataParallel, WhatFitsLeavesRoomForCommunicators) {
  for (const char* card : {"a100-40g", "a6000", "rtx4090"}) {
    for (const char* batch : {"1", "2", "3", "4", "6", "8", "12", "16"}) {
      const Plan plan = *MakePlan(
          Request("llama-3.2-1b", {{"batch", batch}, {"sequence", "2048"}, {"parallel", "dp=8,zero=3"}}, card));
      if (plan.fits == true) EXPECT_GE(plan.target->margin_bytes, 0) << card << ", batch " << batch;
    }
  }
}

}  // namespace
}  // namespace memstrata::plan
