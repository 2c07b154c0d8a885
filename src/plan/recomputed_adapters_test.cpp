// Recomputing changes nothing of what is trained: neither the whole model, nor adapters beside a frozen one, where what
// the frozen tables give is made to need a gradient.

#include <gtest/gtest.h>

#include "plan/plan.h"

namespace memstrata::plan {
namespace {

constexpr const char* kBert = R"({"model_type": "bert", "vocab_size": 3000, "hidden_size": 256,
    "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4})";
constexpr const char* kElectra = R"({"model_type": "electra", "vocab_size": 3000, "hidden_size": 256,
    "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4, "embedding_size": 128})";
constexpr const char* kDeberta = R"({"model_type": "deberta-v2", "vocab_size": 3000, "hidden_size": 256,
    "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4, "relative_attention": true,
    "pos_att_type": ["c2p", "p2c"], "share_att_key": true, "position_buckets": 64})";
constexpr const char* kModernBert = R"({"model_type": "modernbert", "vocab_size": 3000, "hidden_size": 256,
    "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4})";
constexpr const char* kBart = R"({"model_type": "bart", "vocab_size": 3000, "d_model": 256, "encoder_layers": 2,
    "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 1024,
    "decoder_ffn_dim": 1024})";
constexpr const char* kVit = R"({"model_type": "vit", "hidden_size": 256, "intermediate_size": 1024,
    "num_hidden_layers": 2, "num_attention_heads": 4})";

uint64_t GradientBytes(const char* config, const char* recompute, const char* rank) {
  PlanRequest request;
  request.model = *DescribeConfig(config, "adapted");
  EXPECT_TRUE(request.model.HasSimulatedStep());
  request.searches_largest = false;
  for (const auto& [key, value] : {std::pair{"batch", "2"},
                                   {"sequence", "128"},
                                   {"precision", "bf16"},
                                   {"lora-rank", rank},
                                   {"recompute", recompute}})
    EXPECT_TRUE(SetInput(request.workload, key, value));
  const Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan);
  return plan ? plan->devices[0].states.gradients : 0;
}

class RecomputedAdaptersTest : public testing::TestWithParam<const char*> {};

TEST_P(RecomputedAdaptersTest, AreTrainedAsWithoutRecomputing) {
  for (const char* rank : {"8", "0"}) {  // adapters, and the whole model
    const uint64_t kept = GradientBytes(GetParam(), "none", rank);
    EXPECT_GT(kept, 0U);
    EXPECT_EQ(GradientBytes(GetParam(), "full", rank), kept);
    EXPECT_EQ(GradientBytes(GetParam(), "full_reentrant", rank), kept);
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, RecomputedAdaptersTest,
                         testing::Values(kBert, kElectra, kDeberta, kModernBert, kBart, kVit));

}  // namespace
}  // namespace memstrata::plan
