#include "plan/model/model_description.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/model/adapter_targets.h"

namespace memstrata::plan {
namespace {

TEST(ModelDescription, EveryPresetHasItsPublishedParameterCount) {
  ASSERT_FALSE(PresetNames().empty());
  for (const std::string& name : PresetNames()) {
    const Result<ModelDescription> model = DescribePreset(name);
    ASSERT_TRUE(model) << name << ": " << model.error().message;
    EXPECT_EQ(model->parameter_count, PublishedParameterCount(name)) << name;
  }
}

TEST(ModelDescription, TheExplicitFormIsALlama) {
  const Result<ModelDescription> model =
      DescribeExplicit("layers=32 hidden=4096 heads=32 kv_heads=8 ffn=14336 vocab=128256 tied=no");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->parameter_count, 8030261248);
}

TEST(ModelDescription, NamesKeysThatItDoesNotUse) {
  const Result<ModelDescription> model = DescribeConfig(
      R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 10, "flux": 1})",
      "x");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->unknown_keys, std::vector<std::string>{"flux"});
}

struct BadConfig {
  const char* text;
  const char* said;
};

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedWithASentence) {
  const Result<ModelDescription> model = DescribeConfig(GetParam().text, "x");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find(GetParam().said), std::string::npos) << model.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadConfigTest,
    testing::Values(
        BadConfig{"", "not JSON"}, BadConfig{"[]", "JSON object"},
        BadConfig{R"({"model_type": "llama"})", "num_hidden_layers"},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": 10, "num_hidden_layers": 1, "num_attention_heads": 3, "vocab_size": 9})",
            "cannot be divided"},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": -8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 9})",
            "whole number"},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 99999, "num_attention_heads": 2, "vocab_size": 9})",
            "layers"},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9})",
            "needs \"intermediate_size\""},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9,
                      "head_dim": 0})",
            "needs \"head_dim\""},
        BadConfig{
            R"({"model_type": "qwen3", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9,
                      "intermediate_size": 8, "layer_types": ["full_attention"]})",
            "names 1 layers, and there are 2"},
        BadConfig{
            R"({"model_type": "qwen3", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 9,
                      "intermediate_size": 8, "layer_types": ["sliding_attention"]})",
            "gives it no length"},
        BadConfig{
            R"({"model_type": "llama", "hidden_size": 1000000000000, "intermediate_size": 8, "num_hidden_layers": 9, "num_attention_heads": 1,
                                  "vocab_size": 9})",
            "2^50"},
        BadConfig{R"({"model_type": "nothing"})", "not known"},
        BadConfig{R"({"_class_name": "UNet2DConditionModel"})", "as many of both"},
        BadConfig{
            R"({"_class_name": "UNet2DConditionModel", "block_out_channels": [8, 8], "down_block_types": ["DownBlock2D", "X"]})",
            "\"X\""},
        BadConfig{R"({"_class_name": "FluxTransformer2DModel", "num_attention_heads": 0})", "0 heads of width 128"},
        BadConfig{R"({"_class_name": "SD3Transformer2DModel", "num_layers": 5000})", "5000 layers"},
        BadConfig{R"({"_class_name": "WanTransformer3DModel", "patch_size": [1, 0, 2]})", "Patches of 0"},
        BadConfig{R"({"_class_name": "LTXVideoTransformer3DModel", "caption_channels": 100000})",
                  "no denoiser has that"},
        BadConfig{R"({"_class_name": "Transformer2DModel", "norm_type": "group"})", "\"group\" is not known"},
        BadConfig{R"({"model_type": "mamba", "hidden_size": 8, "num_hidden_layers": 1})", "vocab_size"},
        BadConfig{R"({"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 9, "num_heads": 4,
                      "n_groups": 3})",
                  "divided among 3 groups"},
        BadConfig{
            R"({"model_type": "nemotron_h", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9,
                      "intermediate_size": 8, "mamba_num_heads": 2, "hybrid_override_pattern": "M*-"})",
            "names 3 layers"},
        BadConfig{
            R"({"model_type": "llava", "text_config": {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8,
                "num_attention_heads": 2, "vocab_size": 9}, "vision_config": {"model_type": "clip_vision_model",
                "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "patch_size": 999}})",
            "patches of 999"}));

TEST(ModelDescription, AHybridKeepsStatesAndFewCaches) {
  const Result<ModelDescription> model = DescribePreset("jamba-v0.1");
  ASSERT_TRUE(model);
  const auto count = [&](CacheLayer::Kind kind) {
    return std::count_if(model->cache.begin(), model->cache.end(),
                         [kind](const CacheLayer& layer) { return layer.kind == kind; });
  };
  EXPECT_EQ(count(CacheLayer::Kind::kFull), 4);
  EXPECT_EQ(count(CacheLayer::Kind::kState), 28);
  EXPECT_EQ(model->cache.front().state_elements, 3 * 8192 + 8192 * 16);
}

TEST(ModelDescription, AnImageOfLlavaIs577Tokens) {
  const Result<ModelDescription> model = DescribePreset("llava-1.5-7b");
  ASSERT_TRUE(model && model->vision);
  EXPECT_EQ(model->vision->image_tokens, 577);
}

TEST(ModelDescription, ALanguageModelHasItsClassesDefaults) {
  const Result<ModelDescription> model = DescribeConfig(
      R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config":
          {"model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
           "num_hidden_layers": 24, "num_attention_heads": 16, "patch_size": 14}})",
      "llava");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->parameter_count, PublishedParameterCount("llava-1.5-7b"));
  ASSERT_EQ(model->notes.size(), 1u);
  EXPECT_NE(model->notes.front().find("hidden_size, intermediate_size"), std::string::npos) << model->notes.front();
}

TEST(ModelDescription, OfAKeyThatIsThereTwiceTheLastCounts) {
  const Result<ModelDescription> model = DescribeConfig(
      R"({"model_type": "llama", "hidden_size": 8, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 8, "vocab_size": 10})",
      "x");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->hidden, 16);
}

TEST(ModelDescription, DeepNestingIsRefused) {
  EXPECT_FALSE(DescribeConfig(std::string(100, '[') + std::string(100, ']'), "x"));
}

TEST(ModelDescription, TheStoredFormatIsRead) {
  const auto format = [](const char* quantization) {
    return DescribeConfig(std::string(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "quantization_config": )") +
                              quantization + "}",
                          "test")
        ->stored_format;
  };
  EXPECT_EQ(format(R"({"quant_method": "fp8"})"), WeightFormat::kFp8);
  EXPECT_EQ(format(R"({"quant_method": "gptq", "bits": 4})"), WeightFormat::kInt4Group128);
  EXPECT_EQ(format(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})"), WeightFormat::kNf4);
  EXPECT_EQ(format(R"({"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}})"),
            WeightFormat::kFp8);
  EXPECT_EQ(format(R"({"quant_method": "unheard"})"), std::nullopt);
}

TEST(ModelDescription, GroupsOfAnotherSizeAreSaid) {
  const auto notes = [](const char* quantization) {
    return DescribeConfig(std::string(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "quantization_config": )") +
                              quantization + "}",
                          "test")
        ->notes;
  };
  EXPECT_TRUE(notes(R"({"quant_method": "awq", "bits": 4, "group_size": 128})").empty());
  const std::vector<std::string> small = notes(R"({"quant_method": "gptq", "bits": 4, "group_size": 32})");
  ASSERT_EQ(small.size(), 1u);
  EXPECT_NE(small[0].find("for each 32; they are planned with one for each 128, which is 0.47 bits a weight too few"),
            std::string::npos)
      << small[0];
  const std::vector<std::string> rows = notes(R"({"quant_method": "gptq", "bits": 4, "group_size": -1})");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].find("a whole row"), std::string::npos) << rows[0];
}

TEST(ModelDescription, AClipConfigurationOfDefaultsAloneIsCounted) {
  const Result<ModelDescription> model =
      DescribeConfig(R"({"model_type": "clip", "text_config": {}, "vision_config": {}})", "test");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->parameter_count, 151277313);  // openai/clip-vit-base-patch32
}

TEST(ModelDescription, AdaptersStandAtALayersOwnNames) {
  const auto targets = [](const char* type, const char* name) { return AdapterTargets(type, {name}); };
  EXPECT_EQ(targets("falcon", "query_key_value"), std::vector<std::string>{"qkv_proj"});
  EXPECT_EQ(targets("baichuan", "W_pack"), std::vector<std::string>{"qkv_proj"});
  EXPECT_EQ(targets("internlm2", "wo"), std::vector<std::string>{"o_proj"});
  EXPECT_EQ(targets("modernbert", "Wo"), (std::vector<std::string>{"o_proj", "down_proj"}));
  EXPECT_EQ(targets("deberta-v2", "value_proj"), std::vector<std::string>{"v_proj"});
  const ModelDescription falcon = *DescribePreset("falcon-7b");
  EXPECT_EQ(std::count_if(falcon.parameters.begin(), falcon.parameters.end(),
                          [](const ParameterSpec& one) { return IsAdapterTarget(one, {"qkv_proj"}); }),
            32);  // one product for queries, keys and values in each layer
}

TEST(ModelDescription, OneLayerInSixOfGemma3SeesAllTokens) {
  const ModelDescription model = *DescribePreset("gemma-3-4b");
  EXPECT_EQ(std::count_if(model.cache.begin(), model.cache.end(),
                          [](const CacheLayer& layer) { return layer.kind == CacheLayer::Kind::kFull; }),
            5);
  EXPECT_EQ(model.cache.size(), 34u);
}

}  // namespace
}  // namespace memstrata::plan
