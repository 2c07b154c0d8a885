#include "plan/megatron_kept.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/sharded_states.h"
#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

uint64_t BytesOf(const Plan& plan, std::string_view term) {
  uint64_t bytes = 0;
  for (const Line& line : plan.devices.back().lines) bytes += line.term == term ? line.bytes : 0;
  return bytes;
}

TEST(MegatronKept, HasOneBufferOfGatheredTokens) {
  const auto buffer = [](const char* model, const char* parallel, const char* gathers) {
    const Plan plan = *MakePlan(Request(model,
                                        {{"engine", "megatron"},
                                         {"batch", "4"},
                                         {"sequence", "1024"},
                                         {"parallel", parallel},
                                         {"gathered-tokens", gathers}},
                                        "h100-80g"));
    return BytesOf(plan, "communication");
  };
  constexpr uint64_t kTokens = uint64_t{4} * 1024;
  constexpr uint64_t kEach = uint64_t{2} * 4096;  // bytes of a token: both models are 4096 wide
  EXPECT_EQ(buffer("mixtral-8x7b", "dp=8,ep=8", "yes"), 8 * kTokens * kEach);
  EXPECT_EQ(buffer("mixtral-8x7b", "tp=2,sp=yes,dp=4,ep=4,etp=1", "yes"), 2 * kTokens * kEach);
  EXPECT_EQ(buffer("mixtral-8x7b", "dp=8,ep=8", "no"), 0u);
  EXPECT_EQ(buffer("llama-3.1-8b", "tp=2,sp=yes,dp=4", "yes"), kTokens * kEach);
  EXPECT_EQ(buffer("llama-3.1-8b", "tp=2,dp=4", "yes"), 0u);
}

TEST(MegatronKept, TensorsOfARankAreItsParameters) {
  for (const char* model : {"mixtral-8x7b", "llama-3.1-8b"}) {
    const PlanRequest request = Request(model, {{"engine", "megatron"}, {"parallel", "tp=2,pp=2,dp=2"}});
    for (const int64_t stage : {0, 1}) {
      const std::vector<int64_t> tensors = TensorsOfRank(request.model, request.workload, stage);
      EXPECT_EQ(std::accumulate(tensors.begin(), tensors.end(), int64_t{0}),
                ParametersOfRank(request.model, request.workload, stage).Total())
          << model << stage;
    }
  }
}

TEST(MegatronKept, BlocksOfStatesAreRoundedWhereEachIsATensor) {
  const auto rounding = [](const char* parallel) {
    return BytesOf(
        *MakePlan(Request("gpt2", {{"engine", "megatron"}, {"sequence", "128"}, {"parallel", parallel}}, "h100-80g")),
        "rounding");
  };
  constexpr uint64_t kMostEach = uint64_t{1} << 20;  // a larger remainder of a block is split off
  const PlanRequest request = Request("gpt2", {});
  const size_t blocks = 4 * TensorsOfRank(request.model, request.workload, 0).size();
  EXPECT_GT(rounding("dp=8"), 0u);
  EXPECT_LT(rounding("dp=8"), blocks * kMostEach);
  EXPECT_EQ(rounding("dp=8,zero=1"), 0u);
}

}  // namespace
}  // namespace memstrata::plan
