#include "plan/model/unconverted.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/model/model_description.h"

namespace memstrata::plan {
namespace {

TEST(Unconverted, PatternsNameWholeParts) {
  const char* path = "model.layers.3.self_attn.q_proj";
  for (const char* pattern : {"model.layers.*.self_attn", "self_attn", "q_proj", "model.layers.3", "re:.*self_attn.*",
                              R"(re:^model\.layers\.3\.self_attn\.q_proj$)", "*q_proj", path}) {
    EXPECT_TRUE(NamesModule(pattern, path)) << pattern;
  }
  for (const char* pattern : {"", "q_pro", "attn", "model.layers.30", "lm_head", "re:.*mlp.*", "layers.*.mlp"})
    EXPECT_FALSE(NamesModule(pattern, path)) << pattern;
}

// The 20-billion model of gpt-oss: experts of 4.25 bits, their biases and all else in 16.
TEST(Unconverted, GptOssKeepsAllButItsExperts) {
  const Result<ModelDescription> model = DescribeConfig(
      R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
          "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32,
          "num_experts_per_tok": 4, "vocab_size": 201088, "quantization_config": {"quant_method": "mxfp4",
          "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
          "lm_head"]}})",
      "gpt-oss");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->notes, std::vector<std::string>{});
  int64_t experts = 0;
  int64_t attention = 0;
  for (const ParameterSpec& parameter : model->parameters) {
    if (parameter.role == Role::kExpert && !parameter.keeps_precision) experts += CountElements(parameter);
    if (parameter.name.find("q_proj") != std::string::npos) attention += parameter.keeps_precision ? 1 : 0;
  }
  EXPECT_EQ(experts, int64_t{24} * 32 * (3 * 2880 * 2880 + 3 * 2880));
  EXPECT_EQ(attention, 2 * 24);
}

TEST(Unconverted, EntriesThatNameNothingAreSaid) {
  const Result<ModelDescription> model = DescribeConfig(
      R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 100, "quantization_config": {"quant_method": "fp8",
          "ignored_layers": ["lm_head", "model.layers.0.mlp", "model.layers.7.mlp"]}})",
      "test");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->notes.size(), 1u);
  EXPECT_NE(model->notes.front().find("model.layers.7.mlp"), std::string::npos);
  EXPECT_TRUE(std::any_of(model->parameters.begin(), model->parameters.end(), [](const ParameterSpec& parameter) {
    return parameter.name == "layers.0.down_proj.weight" && parameter.keeps_precision;
  }));
}

}  // namespace
}  // namespace memstrata::plan
