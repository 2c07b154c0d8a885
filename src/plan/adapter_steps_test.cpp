#include <gtest/gtest.h>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

DevicePlan Adapted(const char* recompute, const char* parallel = "dp=1", const char* frozen_gathered = "no") {
  return MakePlan(Request("llama-3.2-1b", {{"lora-rank", "8"},
                                           {"sequence", "512"},
                                           {"recompute", recompute},
                                           {"parallel", parallel},
                                           {"frozen-gathered", frozen_gathered}}))
      ->devices[0];
}

// A reentrant checkpoint runs its layer without a graph, so the input of the first layer has to ask for gradients.
TEST(AdapterSteps, AreTrainedUnderBothFormsOfCheckpoints) {
  const DevicePlan kept = Adapted("none");
  for (const char* recompute : {"full", "full_reentrant"}) {
    const DevicePlan run_again = Adapted(recompute);
    EXPECT_GT(run_again.states.gradients, 0u) << recompute;
    EXPECT_EQ(run_again.states.gradients, kept.states.gradients) << recompute;
    EXPECT_EQ(run_again.states.optimizer_state, kept.states.optimizer_state) << recompute;
    EXPECT_EQ(run_again.peak_phase, "backward") << recompute;
    EXPECT_LT(run_again.framework_peak_bytes, kept.framework_peak_bytes) << recompute;
  }
}

// Frozen weights are divided as trained ones are, and their adapters with them.
TEST(AdapterSteps, ShardedWeightsAreDividedWithTheirAdapters) {
  const DevicePlan whole = Adapted("full");
  const DevicePlan part = Adapted("full", "dp=8,zero=3");
  const auto eighth = [](uint64_t bytes) { return static_cast<double>(bytes) / 8; };
  EXPECT_NEAR(static_cast<double>(part.states.parameters), eighth(whole.states.parameters), 1e6);
  EXPECT_NEAR(static_cast<double>(part.states.optimizer_state), eighth(whole.states.optimizer_state), 1e5);
  EXPECT_LT(part.framework_peak_bytes, whole.framework_peak_bytes);
  const DevicePlan gathered = Adapted("full", "dp=8,zero=3", "yes");
  EXPECT_EQ(gathered.states.parameters, whole.states.parameters);
}

}  // namespace
}  // namespace memstrata::plan
