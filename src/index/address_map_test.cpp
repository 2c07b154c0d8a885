#include "index/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "index/test_heap.h"

namespace memstrata {
namespace {

// A heap whose segments are made by hand: `count` of them, each `size_bytes`, that live for `life` events one after the
// other at every second address range.
Store HeapWithSegments(uint32_t seed, uint32_t count, uint64_t size_bytes, uint32_t life) {
  Store store = MakeTestHeap({.seed = seed, .event_count = 2000, .largest_bytes = 5000, .with_segments = true});
  SegmentTable segments;
  for (uint32_t i = 0; i < count; ++i) {
    segments.addr.PushBack(uint64_t{i % 64} * 2 * size_bytes);
    segments.size_bytes.PushBack(size_bytes);
    segments.pool.PushBack(kNone);
    segments.stream.PushBack(0);
    segments.begin_seq.PushBack((i * life) % 1900);
    segments.end_seq.PushBack(std::min<uint32_t>(2000, (i * life) % 1900 + life));
  }
  store.segments = std::move(segments);
  store.heaps[0].segments = {0, count};
  return store;
}

class AddressMapTest : public testing::TestWithParam<uint32_t> {
 protected:
  AddressMap Map(const Store& store, uint32_t columns, uint64_t min_bytes, uint32_t most) {
    HeapIndex index(store, store.heaps[0]);
    const Result<ColumnGrid> grid = MakeColumnGrid(index, {Axis::kSeq, 0, 2000, columns});
    EXPECT_TRUE(grid.has_value());
    grid_ = *grid;
    RowGroups groups;
    groups.group_count = 1;
    groups.group_of_row.assign(store.heaps[0].allocations.size(), 0);
    const StackLayout layout(store, store.heaps[0], grid_, groups);
    return MapAddresses(store, store.heaps[0], grid_, layout, groups, min_bytes, most);
  }
  static bool IsReserved(const AddressMap& map, uint64_t y_bytes, uint32_t seq) {
    return std::any_of(map.regions.begin(), map.regions.end(), [&](const MapRegion& region) {
      return region.y_bytes <= y_bytes && y_bytes < region.y_bytes + region.size_bytes &&
             (region.begin_seq == kNone || region.begin_seq <= seq) && seq < region.end_seq;
    });
  }
  ColumnGrid grid_;
};

TEST_P(AddressMapTest, InFullDetailShowsEverySegmentThatAColumnSees) {
  const Store store = HeapWithSegments(GetParam(), 300, 1 << 20, 37);
  const AddressMap map = Map(store, 2000, 1, 100'000);
  EXPECT_EQ(map.merged_region_count, 0U);
  for (uint32_t column = 0; column < grid_.column_count(); column += 7) {
    const uint32_t seq = grid_.at_seq[column];
    uint64_t reserved_bytes = 0;
    for (uint32_t row = 0; row < 300; ++row) {
      if (store.segments.begin_seq[row] <= seq && seq < store.segments.end_seq[row])
        reserved_bytes += store.segments.size_bytes[row];
    }
    uint64_t drawn_bytes = 0;
    for (const MapRegion& region : map.regions) {
      if (region.begin_seq <= seq && seq < region.end_seq) drawn_bytes += region.size_bytes;
    }
    ASSERT_EQ(drawn_bytes, reserved_bytes) << "column " << column;
  }
}

TEST_P(AddressMapTest, IsBoundedByThePictureAndNotByTheSegments) {
  const Store store = HeapWithSegments(GetParam(), 50'000, 4096, 3);
  const AddressMap map = Map(store, 100, 1, 500);
  EXPECT_LE(map.regions.size(), 500U);
  EXPECT_LE(map.rects.size(), 500U);
  EXPECT_GT(map.merged_region_count, 0U);
}

TEST_P(AddressMapTest, MergedRegionsCoverWhatTheyStandFor) {
  const Store store = HeapWithSegments(GetParam(), 400, 4096, 211);
  const AddressMap exact = Map(store, 50, 1, 100'000);
  const AddressMap merged = Map(store, 50, 64 << 10, 100'000);
  ASSERT_EQ(merged.height_bytes, exact.height_bytes);
  ASSERT_GT(merged.merged_region_count, 0U);
  for (const MapRegion& region : exact.regions) {
    for (uint32_t column = 0; column < grid_.column_count(); ++column) {
      const uint32_t seq = grid_.at_seq[column];
      const bool lives = region.begin_seq <= seq && seq < region.end_seq;
      if (!lives) continue;
      ASSERT_TRUE(IsReserved(merged, region.y_bytes, grid_.begin_seq[column])) << "column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AddressMapTest, testing::Range(1U, 5U));

}  // namespace
}  // namespace memstrata
