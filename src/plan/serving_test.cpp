#include "plan/serving.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

uint64_t BytesOf(const std::vector<Line>& lines, std::string_view term) {
  const auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& each) { return each.term == term; });
  return line == lines.end() ? 0 : line->bytes;
}

using Inputs = std::initializer_list<std::pair<const char*, const char*>>;

Plan Serve(const char* model, Inputs inputs, const char* card = "h100-80g") {
  PlanRequest request = Request(model, {{"task", "serve"}, {"engine", "vllm"}}, card);
  for (const auto& [name, value] : inputs) EXPECT_TRUE(SetInput(request.workload, name, value)) << name;
  Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

constexpr uint64_t kLlamaTokenBytes = 131072;

TEST(Serving, SessionsAreSpreadOverReplicas) {
  const Plan one = Serve("llama-3.1-8b", {{"concurrency", "16"}, {"sequence", "8192"}});
  const Plan two = Serve("llama-3.1-8b", {{"concurrency", "16"}, {"sequence", "8192"}, {"parallel", "dp=2"}});
  const Plan three = Serve("llama-3.1-8b", {{"concurrency", "16"}, {"sequence", "8192"}, {"parallel", "dp=3"}});
  EXPECT_EQ(BytesOf(one.devices[0].lines, "kv_cache"), 16 * 8192 * kLlamaTokenBytes);
  EXPECT_EQ(BytesOf(two.devices[0].lines, "kv_cache"), 8 * 8192 * kLlamaTokenBytes);
  EXPECT_EQ(BytesOf(three.devices[0].lines, "kv_cache"), 6 * 8192 * kLlamaTokenBytes);  // of the fullest replica
  EXPECT_EQ(BytesOf(two.devices[0].lines, "communicators"), 0u);  // replicas have nothing to tell each other
}

TEST(Serving, TheMostSessionsAreOfAllReplicas) {
  const auto most = [](const char* parallel) {
    PlanRequest request =
        Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}, {"sequence", "8192"}, {"parallel", parallel}},
                "h100-80g");
    request.searches_largest = true;
    return *MakePlan(request)->largest.concurrency;
  };
  EXPECT_EQ(most("dp=2"), 2 * most("dp=1"));
}

TEST(Serving, RanksShareASessionByContext) {
  const Plan plan = Serve("llama-3.1-8b", {{"concurrency", "16"}, {"sequence", "8192"}, {"parallel", "cp=2"}});
  EXPECT_EQ(BytesOf(plan.devices[0].lines, "kv_cache"), 16 * 4096 * kLlamaTokenBytes);
  const Plan alone = Serve("llama-3.1-8b", {{"concurrency", "16"}, {"sequence", "8192"}});
  EXPECT_GT(*plan.kv_tokens, *alone.kv_tokens * 19 / 10);
}

TEST(Serving, TokensOfTheCacheAreWholePages) {
  EXPECT_EQ(*Serve("llama-3.1-8b", {}).kv_tokens % 16, 0);
  EXPECT_EQ(*Serve("llama-3.1-8b", {{"parallel", "cp=2"}}).kv_tokens % 32, 0);
}

TEST(Serving, EachPipelineStageHasItsLayersAndTheFullestDecides) {
  const Plan plan = Serve("deepseek-v3", {{"parallel", "tp=8,pp=2"}, {"sequence", "4096"}});
  ASSERT_EQ(plan.devices.size(), 2u);
  const uint64_t layer = 4096 * 576 * 2;  // latent vectors and rotary keys
  EXPECT_EQ(BytesOf(plan.devices[0].lines, "kv_cache"), 30 * layer);
  EXPECT_EQ(BytesOf(plan.devices[1].lines, "kv_cache"), 31 * layer);
  EXPECT_GT(plan.devices[1].total_bytes, plan.devices[0].total_bytes);
  const Plan whole = Serve("deepseek-v3", {{"parallel", "tp=8"}, {"sequence", "4096"}});
  EXPECT_NEAR(static_cast<double>(plan.devices[0].states.parameters + plan.devices[1].states.parameters),
              static_cast<double>(whole.devices[0].states.parameters), 1000);
}

TEST(Serving, DeepSeekIsServedAsItIsPublished) {
  const Plan plan = Serve("deepseek-v3", {{"parallel", "tp=8"}}, "h200");
  EXPECT_TRUE(plan.fits.value_or(false)) << plan.verdict;
  EXPECT_LT(plan.devices[0].states.parameters, uint64_t{90} << 30);
  for (const char* preset : {"kimi-k2", "minimax-m2"})
    EXPECT_EQ(DescribePreset(preset)->stored_format, WeightFormat::kFp8) << preset;
}

// The lines that llama.cpp prints for Llama 3 8B in Q4_K_M; on Apple's GPUs both are one memory.
TEST(Serving, LlamaCppKeepsTheTableOfTokensInHostMemory) {
  const Inputs inputs = {{"engine", "llama.cpp"}, {"weights", "q4_k_m"}};
  const Plan plan = Serve("llama-3.1-8b", inputs, "l4");
  EXPECT_NEAR(static_cast<double>(BytesOf(plan.devices[0].lines, "weights")) / 0x1p20, 4403.49, 0.01);
  EXPECT_NEAR(static_cast<double>(BytesOf(plan.host_lines, "token_table")) / 0x1p20, 281.81, 0.01);
  const Plan shared = Serve("llama-3.1-8b", inputs, "m3-max-128g");
  EXPECT_EQ(BytesOf(shared.devices[0].lines, "weights"),
            BytesOf(plan.devices[0].lines, "weights") + BytesOf(plan.host_lines, "token_table"));
}

TEST(Serving, GraphsAreOfCuda) {
  EXPECT_GT(BytesOf(Serve("llama-3.1-8b", {}).devices[0].lines, "graphs"), 0u);
  EXPECT_EQ(BytesOf(Serve("llama-3.1-8b", {}, "tpu-v5p").devices[0].lines, "graphs"), 0u);
}

TEST(Serving, WhatToChangeFirstIsWhatTheEngineHas) {
  PlanRequest request =
      Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "llama.cpp"}, {"sequence", "8192"}}, "t4");
  const Plan plan = *MakePlan(request);
  ASSERT_FALSE(plan.changes.empty()) << plan.verdict;
  EXPECT_EQ(plan.changes[0].find("keep weights in q2_k"), 0u) << plan.changes[0];
}

TEST(Serving, LlamaCppRunsOnCardsWithoutTheCheckpointsFormat) {
  EXPECT_TRUE(*Serve("llama-3.2-1b", {{"engine", "llama.cpp"}, {"weights", "q4_k_m"}}, "t4").fits);
  EXPECT_FALSE(*Serve("llama-3.2-1b", {}, "t4").fits);  // vLLM computes in bf16
}

TEST(Serving, LlamaCppTakesAFileInThePrecisionWhereItCannotReadTheCheckpoint) {
  const Plan plan = Serve("deepseek-v3", {{"engine", "llama.cpp"}});
  EXPECT_EQ(plan.workload.weight_format, WeightFormat::kAsPrecision);
  EXPECT_TRUE(std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& each) {
    return each.text.find("llama.cpp does not read") != std::string::npos;
  }));
}

}  // namespace
}  // namespace memstrata::plan
