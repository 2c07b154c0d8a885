#include "analysis/category/growing_cache.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr uint64_t kPartBytes = 64 << 10;

Store MakeCaches(uint32_t token_count, uint64_t part_bytes) {
  TestProgram program(/*keeps_stacks=*/false);
  std::vector<uint32_t> cache = {program.Alloc(8 << 20, {}), program.Alloc(8 << 20, {})};
  for (uint32_t token = 0; token < token_count; ++token) {
    for (uint32_t& block : cache) {
      const uint32_t part = program.Alloc(part_bytes, {});
      const uint32_t next = program.Alloc(program.SizeOf(block) + part_bytes, {});
      program.Free(part, {});
      program.Free(block, {});
      block = next;
    }
    program.Free(program.Alloc((1 << 20) + token * 4096, {}), {});  // scores grow too, and are gone at once
  }
  return program.Finish();
}

std::vector<Category> Mark(const Store& store, Phase phase) {
  Timeline timeline;
  timeline.phases.push_back({phase, kNone, 0, static_cast<uint32_t>(store.events.size())});
  timeline.phase_of_event.assign(store.events.size(), phase);
  std::vector<Category> categories(store.allocations.size(), Category::kTemporary);
  MarkGrowingCaches(store, store.heaps[0], timeline, categories);
  return categories;
}

TEST(GrowingCache, AllOfItIsKvCacheAndNothingElse) {
  const Store store = MakeCaches(10, kPartBytes);
  const std::vector<Category> categories = Mark(store, Phase::kEval);
  for (uint32_t row = 0; row < categories.size(); ++row) {
    const bool is_cache = store.allocations.size_bytes[row] >= 8 << 20;
    EXPECT_EQ(categories[row], is_cache ? Category::kKvCache : Category::kTemporary) << row;
  }
}

TEST(GrowingCache, AFewTokensOrTheirIdsMakeNone) {
  for (const Store& store : {MakeCaches(3, kPartBytes), MakeCaches(10, 256)}) {
    for (const Category category : Mark(store, Phase::kEval)) EXPECT_EQ(category, Category::kTemporary);
  }
}

TEST(GrowingCache, ATrainingHasNone) {
  const Store store = MakeCaches(10, kPartBytes);
  for (const Category category : Mark(store, Phase::kForward)) EXPECT_EQ(category, Category::kTemporary);
}

}  // namespace
}  // namespace memstrata
