#include "plan/kv_cache.h"

#include <gtest/gtest.h>

namespace memstrata::plan {
namespace {

TEST(KvCache, PublishedBytesPerToken) {
  const CacheLayout layout;
  EXPECT_EQ(CacheBytesPerToken(*DescribePreset("llama-3.1-8b"), layout), 131072u);
  EXPECT_EQ(CacheBytesPerToken(*DescribePreset("deepseek-v2-lite"), layout), 31104u);
}

TEST(KvCache, PagesAreWhole) {
  CacheLayout layout;
  layout.page_tokens = 16;
  const ModelDescription model = *DescribePreset("llama-3.1-8b");
  EXPECT_EQ(SequenceCacheBytes(model, 1, layout), 16u * 131072u);
  EXPECT_EQ(SequenceCacheBytes(model, 17, layout), 32u * 131072u);
}

TEST(KvCache, TensorParallelismDividesHeadsButNotLatentVectors) {
  CacheLayout layout;
  layout.tensor_parallel = 4;
  EXPECT_EQ(CacheBytesPerToken(*DescribePreset("llama-3.1-8b"), layout), 131072u / 4);
  EXPECT_EQ(CacheBytesPerToken(*DescribePreset("deepseek-v2-lite"), layout), 31104u);
  layout.tensor_parallel = 16;  // more ranks than heads: one head stays on each
  EXPECT_EQ(CacheBytesPerToken(*DescribePreset("llama-3.1-8b"), layout), 131072u / 8);
}

TEST(KvCache, FormatsHaveTheirScales) {
  const ModelDescription llama = *DescribePreset("llama-3.1-8b");  // 32 layers, 8 heads of 128
  const ModelDescription latent = *DescribePreset("deepseek-v3");  // 61 layers, 512 + 64
  const auto each = [](const ModelDescription& model, CacheFormat format) {
    CacheLayout layout;
    layout.format = format;
    return CacheBytesPerToken(model, layout);
  };
  EXPECT_EQ(each(llama, CacheFormat::k8), 65536u);
  EXPECT_EQ(each(llama, CacheFormat::k8Scaled), 65536u + 32 * 2 * 8 * 4);
  EXPECT_EQ(each(llama, CacheFormat::kQ8_0), 65536u / 32 * 34);
  EXPECT_EQ(each(llama, CacheFormat::kQ4_0), 65536u / 32 * 18);
  EXPECT_EQ(each(llama, CacheFormat::kNvfp4), 65536u / 16 * 9);
  EXPECT_EQ(each(latent, CacheFormat::k16), 70272u);
  EXPECT_EQ(each(latent, CacheFormat::kFp8Latent), 61u * 656);
}

TEST(KvCache, WidthsOfLlamaCppAreNamesAndNumbers) {
  Workload workload;
  for (const auto& [text, name] : {std::pair{"8.5", "q8_0"}, {"q8_0", "q8_0"}, {"4.5", "q4_0"}, {"8", "8"}}) {
    ASSERT_TRUE(SetInput(workload, "kv-bits", text)) << text;
    EXPECT_EQ(Name(workload.cache_format), name);
  }
  for (const char* text : {"7", "3", "1000000", "-8", ""}) EXPECT_FALSE(SetInput(workload, "kv-bits", text)) << text;
}

TEST(KvCache, LayersOfSeveralKindsSharePagesInVllm) {
  const ModelDescription model = *DescribePreset("gemma-3-4b");  // 5 full layers, 29 with a window of 1,024; 4 KiB each
  CacheLayout layout;
  layout.page_tokens = 16;
  layout.batched_tokens = 8192;
  const uint64_t full = 131072u * 4096;
  const uint64_t sliding = (1023u + 8192 + 1 + 16) * 4096;  // whole pages and one more
  EXPECT_EQ(SequenceCacheBytes(model, 131072, layout), 5 * full + 29 * sliding);
  layout.groups_layers = true;  // groups of 5: the windows are padded to 30 layers
  EXPECT_EQ(SequenceCacheBytes(model, 131072, layout), 5 * full + 30 * sliding);
  // One kind alone is not grouped.
  EXPECT_EQ(SequenceCacheBytes(*DescribePreset("llama-3.1-8b"), 16, layout), 16u * 131072u);
}

TEST(KvCache, APageOfAttentionHoldsWhatAStateNeeds) {
  ModelDescription model;
  const CacheLayer attention{CacheLayer::Kind::kFull, 2, 64, 64, 0, 0};  // 512 B a token
  CacheLayer state;
  state.kind = CacheLayer::Kind::kState;
  state.state_elements = 5000;  // 20,000 B in float32
  model.cache = {attention, state, state, state};
  CacheLayout layout;
  layout.page_tokens = 16;
  layout.groups_layers = true;
  const uint64_t page = 48u * 512;                                         // 20,000 / 512 tokens, in sixteens
  EXPECT_EQ(SequenceCacheBytes(model, 100, layout), 3 * page + 3 * page);  // 100 tokens take three pages, three states
}

TEST(KvCache, ASlidingWindowStopsGrowing) {
  const ModelDescription model = *DescribePreset("mistral-7b");
  const CacheLayout layout;
  EXPECT_EQ(SequenceCacheBytes(model, 100000, layout), SequenceCacheBytes(model, 8000, layout));
  EXPECT_LT(SequenceCacheBytes(model, 1000, layout), SequenceCacheBytes(model, 8000, layout));
}

}  // namespace
}  // namespace memstrata::plan
