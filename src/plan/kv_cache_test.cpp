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

TEST(KvCache, ASlidingWindowStopsGrowing) {
  const ModelDescription model = *DescribePreset("mistral-7b");
  const CacheLayout layout;
  EXPECT_EQ(SequenceCacheBytes(model, 100000, layout), SequenceCacheBytes(model, 8000, layout));
  EXPECT_LT(SequenceCacheBytes(model, 1000, layout), SequenceCacheBytes(model, 8000, layout));
}

}  // namespace
}  // namespace memstrata::plan
