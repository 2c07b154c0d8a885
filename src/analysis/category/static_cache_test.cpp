#include "analysis/category/static_cache.h"

#include <gtest/gtest.h>

#include "analysis/heap_analysis.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr int kLayerCount = 3;
constexpr uint64_t kCacheBytes = 2 << 20;

/// A server: a model, `cache_count` equal blocks, and calls of the model.
Store MakeServer(bool keeps_stacks, int cache_count) {
  TestProgram program(keeps_stacks);
  for (int layer = 0; layer < kLayerCount; ++layer) {
    program.Alloc(1 << 20, {"<module>@serve.py:1", "_apply@torch/nn/modules/module.py:900"});
    program.Alloc(4096, {"<module>@serve.py:1", "_apply@torch/nn/modules/module.py:900"});
  }
  for (int i = 0; i < cache_count; ++i) program.Alloc(kCacheBytes, {"<module>@serve.py:2", "make@serve.py:20"});
  for (int request = 0; request < 6; ++request) {
    const uint32_t ids = program.Alloc(2048, {"<module>@serve.py:3"});
    for (int layer = 0; layer < kLayerCount; ++layer) {
      program.Free(program.Alloc(3 << 20, {"<module>@serve.py:4", "_call_impl@torch/nn/modules/module.py:1700"}),
                   {"<module>@serve.py:4", "_call_impl@torch/nn/modules/module.py:1700"});
    }
    program.Free(ids, {"<module>@serve.py:3"});
  }
  return program.Finish();
}

uint64_t CacheBytes(const Store& store) {
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  uint64_t bytes = 0;
  for (uint32_t row = 0; row < store.allocations.size(); ++row)
    bytes += analysis.CategoryOf(row) == Category::kKvCache ? store.allocations.size_bytes[row] : 0;
  return bytes;
}

TEST(StaticCache, TwoBlocksALayerAreTheCache) {
  for (const bool keeps_stacks : {true, false})
    EXPECT_EQ(CacheBytes(MakeServer(keeps_stacks, 2 * kLayerCount)), 2 * kLayerCount * kCacheBytes) << keeps_stacks;
}

TEST(StaticCache, AnotherNumberOfBlocksIsNone) {
  for (const bool keeps_stacks : {true, false}) EXPECT_EQ(CacheBytes(MakeServer(keeps_stacks, 5)), 0U) << keeps_stacks;
}

TEST(StaticCache, ATrainingHasNone) {
  const Store store = MakeTraining(3);
  EXPECT_EQ(CacheBytes(store), 0U);
}

}  // namespace
}  // namespace memstrata
