#include <gtest/gtest.h>

#include "plan/plan.h"

namespace memstrata::plan {
namespace {

// Peaks that PyTorch 2.7.1 with transformers 4.57.6 allocated in steps 2 and 3 of AdamW on a simulated H100: batch 2,
// 1,024 tokens, with a mask.
struct MeasuredStep {
  const char* config;
  const char* precision;
  int64_t peak_bytes;
};

constexpr const char* kGranite = R"({"model_type": "granite", "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 49155})";
constexpr const char* kSmollm3 = R"({"model_type": "smollm3", "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 49152,
    "no_rope_layers": [1, 1, 1, 0]})";
constexpr const char* kOlmo2 = R"({"model_type": "olmo2", "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 4, "num_attention_heads": 16, "vocab_size": 50304})";
constexpr const char* kGemma3 = R"({"model_type": "gemma3_text", "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 64000,
    "sliding_window": 256})";
constexpr const char* kOpt = R"({"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 4,
    "num_attention_heads": 16, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 1024})";

class MeasuredStepTest : public testing::TestWithParam<MeasuredStep> {};

TEST_P(MeasuredStepTest, IsSimulatedWithinOnePercent) {
  PlanRequest request;
  request.model = *DescribeConfig(GetParam().config, "measured");
  ASSERT_TRUE(request.model.HasSimulatedStep());
  for (const auto& [key, value] :
       {std::pair{"batch", "2"}, {"sequence", "1024"}, {"mask", "padded"}, {"precision", GetParam().precision}})
    ASSERT_TRUE(SetInput(request.workload, key, value));
  request.card = *FindCard("h100-80g");
  const Result<Plan> plan = MakePlan(request);
  ASSERT_TRUE(plan);
  const auto measured = static_cast<double>(GetParam().peak_bytes);
  EXPECT_NEAR(static_cast<double>(plan->devices[0].framework_peak_bytes), measured, 0.01 * measured);
}

// At 2,048 tokens the attention's scores decide the peak of eager attention: TinyLlama 1.1B, the same loop in float32.
TEST(MeasuredStep, ScoresOfEagerAttentionDecideThePeak) {
  constexpr double kMeasured = 55'562'823'168;
  PlanRequest request;
  request.model = *DescribeConfig(
      R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
          "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": false})",
      "measured");
  for (const auto& [key, value] :
       {std::pair{"batch", "2"}, {"sequence", "2048"}, {"precision", "fp32"}, {"attention", "eager"}})
    ASSERT_TRUE(SetInput(request.workload, key, value));
  request.card = *FindCard("h100-80g");
  const Result<Plan> plan = MakePlan(request);
  ASSERT_TRUE(plan);
  EXPECT_NEAR(static_cast<double>(plan->devices[0].framework_peak_bytes), kMeasured, 0.005 * kMeasured);
}

INSTANTIATE_TEST_SUITE_P(
    Families, MeasuredStepTest,
    testing::Values(MeasuredStep{kGranite, "bf16", 2748341760}, MeasuredStep{kGranite, "bf16_autocast", 4027958784},
                    MeasuredStep{kSmollm3, "bf16", 2446228992}, MeasuredStep{kSmollm3, "bf16_autocast", 3423819264},
                    MeasuredStep{kOlmo2, "bf16", 3003923968}, MeasuredStep{kOlmo2, "bf16_autocast", 4314748416},
                    MeasuredStep{kGemma3, "bf16", 3757502976}, MeasuredStep{kGemma3, "bf16_autocast", 5112416768},
                    MeasuredStep{kOpt, "bf16", 2157802496}, MeasuredStep{kOpt, "bf16_autocast", 3069281280}));

}  // namespace
}  // namespace memstrata::plan
