// Inputs of a plan: what they do, and which cannot be.

#include <algorithm>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

TEST(Plan, AdaptersAreNamedAsTheModelNamesItsLayers) {
  const auto adapters = [](const char* model, const char* targets) {
    const Result<Plan> plan =
        MakePlan(Request(model, {{"lora-rank", "8"}, {"lora-targets", targets}, {"sequence", "64"}}));
    return plan ? plan->devices[0].states.gradients / 4 : 0;
  };
  EXPECT_EQ(adapters("gpt2", "c_attn"), 12u * 8 * (768 + 3 * 768));
  EXPECT_EQ(adapters("gpt2", "c_proj"), 12u * 8 * (768 + 768 + 768 + 4 * 768));
  EXPECT_EQ(adapters("bert-base", "query,value"), 12u * 8 * 2 * (768 + 768));
  EXPECT_EQ(adapters("llama-3.2-1b", "q_proj"), 16u * 8 * (2048 + 2048));
  const Result<Plan> refused = MakePlan(Request("gpt2", {{"lora-rank", "8"}, {"lora-targets", "q_proj"}}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("there are qkv_proj, o_proj"), std::string::npos) << refused.error().message;
}

TEST(Plan, AnEncoderDecoderGeneratesFromOneToken) {
  const Plan plan = *MakePlan(Request("t5-base", {{"task", "generate"}, {"sequence", "64"}, {"new-tokens", "5"}}));
  // 12 layers, 12 heads of 64, keys and values, 2 B: the encoder's 64 tokens, and the start and five of its own.
  EXPECT_EQ(plan.devices[0].states.kv_cache, 12u * 2 * 768 * 2 * (64 + 6));
  EXPECT_TRUE(plan.devices[0].phase_peaks.contains("decode"));
}

TEST(Plan, DegreesThatCannotBeAreRefused) {
  const std::pair<const char*, const char*> refused[] = {{"pp=4,vpp=7", "cannot be divided among 4 stages of 7"},
                                                         {"vpp=2", "give pp"},
                                                         {"pp=4,group=4", "vpp"},
                                                         {"dp=4,zero=3,replicas=3", "among 3 replicas"}};
  for (const auto& [degrees, said] : refused) {
    const Result<Plan> plan = MakePlan(Request("llama-3.1-8b", {{"parallel", degrees}}));
    ASSERT_FALSE(plan) << degrees;
    EXPECT_NE(plan.error().message.find(said), std::string::npos) << plan.error().message;
  }
  Workload workload;
  for (const char* twice : {"tp=4,tp=8", "fsdp=8,dp=4", "zero=1,zero=3"})
    EXPECT_FALSE(SetInput(workload, "parallel", twice)) << twice;
  EXPECT_FALSE(MakePlan(Request("llava-1.5-7b", {{"images", "5"}, {"sequence", "512"}})));
}

TEST(Plan, ADraftModelBringsItsWeightsAndItsCache) {
  PlanRequest request = Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}, {"draft-tokens", "4"}});
  const Result<Plan> alone = MakePlan(request);
  request.draft = *DescribeAny("llama-3.2-1b");
  const Result<Plan> both = MakePlan(request);
  ASSERT_TRUE(alone && both);
  EXPECT_EQ(both->devices[0].states.parameters - alone->devices[0].states.parameters, 1235814400u * 2);
  EXPECT_EQ(both->devices[0].states.kv_cache - alone->devices[0].states.kv_cache,
            32768u * 2064);  // 2052 in pages of 16
}

TEST(Plan, AProcessThatIsNotParallelIsJudgedOnOneDevice) {
  const Result<Plan> plan = MakePlan(Request("llama-3.1-8b", {{"devices", "4"}, {"sequence", "8192"}}, "h100-80g"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->devices.size(), 1u);
  EXPECT_EQ(plan->fits, false);
  EXPECT_NE(plan->verdict.find("uses 1 of these 4"), std::string::npos);
  ASSERT_EQ(plan->strategies.size(), 4u);
  for (const Strategy& strategy : plan->strategies) {
    ASSERT_TRUE(strategy.device_bytes) << strategy.problem;
    EXPECT_LT(*strategy.device_bytes, plan->devices[0].total_bytes) << strategy.name;
  }
}

TEST(Plan, AdaptersTrainLittleAndScalesSaveTheirInputs) {
  const PlanRequest lora = Request("llama-3.2-1b", {{"lora-rank", "8"}, {"sequence", "256"}});
  const PlanRequest scales = Request("llama-3.2-1b", {{"adapter", "scale_bias"}, {"sequence", "256"}});
  const PlanRequest prompts = Request("llama-3.2-1b", {{"adapter", "prompt"}, {"sequence", "256"}});
  const Result<Plan> plans[] = {MakePlan(lora), MakePlan(scales), MakePlan(prompts)};
  for (const Result<Plan>& plan : plans) {
    ASSERT_TRUE(plan);
    EXPECT_LT(plan->devices[0].states.gradients, plan->devices[0].states.parameters / 50);
    EXPECT_GT(plan->devices[0].states.gradients, 0u);
  }
  // 16 layers: 10 tokens of 2048 and a gate of one, from the third on.
  EXPECT_EQ(plans[2]->devices[0].states.gradients, 14u * (10 * 2048 + 1) * 2);
  EXPECT_GT(plans[1]->devices[0].states.activations_end_of_forward,
            plans[2]->devices[0].states.activations_end_of_forward);
}

uint64_t PeakWith(std::initializer_list<std::pair<const char*, const char*>> inputs) {
  const Result<Plan> plan = MakePlan(Request("llama-3.2-1b", inputs));
  EXPECT_TRUE(plan);
  return plan ? plan->devices[0].framework_peak_bytes : 0;
}

TEST(Plan, EachLossIsSimulatedAndTheLaterTakeLess) {
  std::vector<uint64_t> peaks;
  for (const char* loss : {"plain", "fused", "chunked", "linear_fused"})
    peaks.push_back(PeakWith({{"batch", "8"}, {"optimizer", "adamw_fused"}, {"loss", loss}}));
  const uint64_t score_count = uint64_t{8} * 2048 * 128256;
  EXPECT_GE(peaks[0] - peaks[1], 9 * score_count);  // 12 bytes a score, then 2 in which the gradient is written
  EXPECT_LE(peaks[0] - peaks[1], 11 * score_count);
  EXPECT_GT(peaks[1], peaks[2]);
  EXPECT_GT(peaks[2], peaks[3]);
}

TEST(Plan, WhatSavesMemoryNeverTakesMore) {
  const uint64_t kept = PeakWith({{"batch", "8"}, {"optimizer", "adamw_fused"}});
  const uint64_t every_second = PeakWith({{"batch", "8"}, {"optimizer", "adamw_fused"}, {"recompute", "selective"}});
  const uint64_t none_kept = PeakWith({{"batch", "8"}, {"optimizer", "adamw_fused"}, {"recompute", "full"}});
  const uint64_t compiled = PeakWith({{"batch", "8"}, {"optimizer", "adamw_fused"}, {"compile", "yes"}});
  EXPECT_LT(every_second, kept);
  EXPECT_LT(none_kept, every_second);
  EXPECT_LT(compiled, kept);
  EXPECT_LT(PeakWith({{"optimizer", "adamw_8bit"}}), PeakWith({{"optimizer", "adamw_fused"}}));
}

TEST(Plan, StatesOfAnOptimizerThatIsNotSimulatedAreItsOwn) {
  const Plan plan = *MakePlan(Request("llama-3.2-1b", {{"optimizer", "adamw_8bit"}, {"sequence", "256"}}));
  EXPECT_EQ(plan.devices[0].states.optimizer_state, static_cast<uint64_t>(1235814400.0 * 2 * (1 + 4.0 / 256)));
}

TEST(Plan, InputsBeyondTheModelAreRefused) {
  EXPECT_FALSE(MakePlan(Request("gpt2", {{"lora-rank", "99999999"}})));
  const std::pair<const char*, const char*> longer = {"sequence", "200000"};
  EXPECT_FALSE(MakePlan(Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}, longer})));
  const Plan plan = *MakePlan(Request("llama-3.1-8b", {{"task", "serve"}, longer}));
  EXPECT_TRUE(std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(),
                          [](const Diagnostic& diagnostic) { return diagnostic.code == "beyond_positions"; }));
}

TEST(Plan, ReplicasShareTheSessionsAndContextRanksEachCache) {
  const auto cache = [](const char* parallel) {
    return MakePlan(Request("llama-3.1-8b", {{"task", "serve"},
                                             {"engine", "vllm"},
                                             {"concurrency", "15"},
                                             {"sequence", "4096"},
                                             {"parallel", parallel}}))
        ->devices[0]
        .states.kv_cache;
  };
  constexpr uint64_t kEach = uint64_t{131072} * 4096;
  EXPECT_EQ(cache("tp=1"), 15 * kEach);
  EXPECT_EQ(cache("dp=2"), 8 * kEach);
  EXPECT_EQ(cache("cp=2"), 15 * kEach / 2);
}

TEST(Plan, WorkspacesFollowCardAndDeterminism) {
  const auto bytes = [](const char* engine, const char* card, const char* deterministic) {
    const Plan plan =
        *MakePlan(Request("gpt2", {{"engine", engine}, {"sequence", "64"}, {"deterministic", deterministic}}, card));
    for (const Line& line : plan.devices[0].lines) {
      if (line.term == "workspace") return line.bytes;
    }
    return uint64_t{0};
  };
  constexpr uint64_t kLarge = uint64_t{32} << 20;
  EXPECT_EQ(bytes("torch", "a100-80g", "no"), 2u * 8519680);
  EXPECT_EQ(bytes("torch", "a100-80g", "yes"), 2 * kLarge);
  EXPECT_EQ(bytes("megatron", "a100-80g", "yes"), 2 * kLarge + (4u << 20));
  EXPECT_EQ(bytes("megatron", "h100-80g", "no"), 3 * kLarge);
}

}  // namespace
}  // namespace memstrata::plan
