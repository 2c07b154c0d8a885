#include <gtest/gtest.h>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

Plan OfLayers(int layers, const char* parallel) {
  const std::string model =
      "layers=" + std::to_string(layers) + " hidden=256 heads=4 ffn=512 vocab=1000";  // small layers, few words
  return *MakePlan(Request(model, {{"sequence", "64"}, {"precision", "bf16"}, {"parallel", parallel}}));
}

// Models on both sides of the bound grow by the same bytes a layer.
TEST(DeepSimulation, GoesOnAsShallowerModelsDo) {
  for (const char* parallel : {"dp=1", "dp=4,zero=3"}) {
    const DevicePlan at_112 = OfLayers(112, parallel).devices[0];
    const DevicePlan at_160 = OfLayers(160, parallel).devices[0];  // the deepest that is simulated whole
    const DevicePlan at_1600 = OfLayers(1600, parallel).devices[0];
    const auto continued = [](uint64_t shallow, uint64_t deeper) { return deeper + (deeper - shallow) * 1440 / 48; };
    EXPECT_EQ(at_1600.states.parameters, continued(at_112.states.parameters, at_160.states.parameters));
    EXPECT_EQ(at_1600.states.gradients, continued(at_112.states.gradients, at_160.states.gradients));
    EXPECT_EQ(at_1600.states.optimizer_state, continued(at_112.states.optimizer_state, at_160.states.optimizer_state));
    EXPECT_EQ(at_1600.peak_phase, at_160.peak_phase);
    const auto expected = static_cast<double>(continued(at_112.framework_peak_bytes, at_160.framework_peak_bytes));
    EXPECT_NEAR(static_cast<double>(at_1600.framework_peak_bytes) / expected, 1.0, 0.01);
  }
}

}  // namespace
}  // namespace memstrata::plan
