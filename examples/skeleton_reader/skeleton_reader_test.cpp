#include "skeleton_reader/skeleton_reader.h"

#include <gtest/gtest.h>

namespace memstrata::skeleton {
namespace {

Result<Store> ReadText(std::string text) {
  StoreBuilder builder;
  MEMSTRATA_ASSIGN_OR_RETURN(Input input, UnwrapBytes("test", std::move(text)));
  builder.AddSource({.file = "test", .format = "skeleton"});
  MEMSTRATA_TRY(kReader.read(input, builder, {}));
  return std::move(builder).Finalize();
}

TEST(SkeletonReader, ClaimsOnlyItsOwnFormat) {
  EXPECT_EQ(kReader.probe({"skeleton 1\nalloc", "a.txt"}), Match::kCertain);
  EXPECT_EQ(kReader.probe({"skeleton 2\nalloc", "a.txt"}), Match::kNo);
}

TEST(SkeletonReader, PairsAllocationsWithFrees) {
  const Result<Store> store = ReadText("skeleton 1\nalloc 0x1000 512\nalloc 0x2000 100\nfree 0x1000\n");
  ASSERT_TRUE(store);
  ASSERT_EQ(store->allocations.size(), 2);
  EXPECT_EQ(store->allocations.size_bytes[0], 512);
  EXPECT_EQ(store->allocations.free_seq[0], 2);
  EXPECT_EQ(store->allocations.free_seq[1], kNone);
}

TEST(SkeletonReader, CountsWhatItCannotRead) {
  const Result<Store> store = ReadText("skeleton 1\nalloc 0x1000\nnonsense\nalloc 0x2000 100\n");
  ASSERT_TRUE(store);
  EXPECT_EQ(store->allocations.size(), 1);
  ASSERT_EQ(store->diagnostics.size(), 1);
  EXPECT_EQ(store->diagnostics[0].count, 2);
  EXPECT_EQ(store->diagnostics[0].first_offset, 11);
}

}  // namespace
}  // namespace memstrata::skeleton
