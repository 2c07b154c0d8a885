#include "index/stack_layout.h"

#include <gtest/gtest.h>

#include <map>

#include "index/test_heap.h"

namespace memstrata {
namespace {

constexpr uint32_t kGroupCount = 3;

RowGroups GroupsOf(const Heap& heap) {
  RowGroups groups;
  groups.group_count = kGroupCount;
  for (uint32_t row = 0; row < heap.allocations.size(); ++row)
    groups.group_of_row.push_back(static_cast<uint8_t>(row * 2654435761U % kGroupCount));
  return groups;
}

class StackLayoutTest : public testing::TestWithParam<uint32_t> {
 protected:
  StackLayoutTest()
      : store_(MakeTestHeap({.seed = GetParam(), .event_count = 300 + GetParam() * 40})),
        heap_(store_.heaps[0]),
        index_(store_, heap_),
        groups_(GroupsOf(heap_)) {}

  ColumnGrid Grid(Axis axis, uint64_t begin, uint64_t end, uint32_t columns) {
    const Result<ColumnGrid> grid = MakeColumnGrid(index_, {axis, begin, end, columns});
    EXPECT_TRUE(grid.has_value()) << grid.error().message;
    return *grid;
  }
  std::vector<ColumnGrid> Grids() {
    const uint32_t end = heap_.events.size();
    const auto duration_ns = static_cast<uint64_t>(*index_.Time().DurationNs());
    return {Grid(Axis::kSeq, 0, end, 1),
            Grid(Axis::kSeq, 0, end, 100),
            Grid(Axis::kSeq, 0, end, end),
            Grid(Axis::kSeq, end / 3, end / 3 + 40, 17),
            Grid(Axis::kTime, 0, duration_ns + 1, 64),
            Grid(Axis::kTime, duration_ns / 2, duration_ns, 200)};
  }
  uint64_t LiveAt(uint32_t seq) { return index_.Live().curve.At(Moment::AfterEvent(seq)); }

  Store store_;
  const Heap& heap_;
  HeapIndex index_;
  RowGroups groups_;
};

TEST_P(StackLayoutTest, ColumnsAddUpToTheLiveCurveWhateverTheDetail) {
  for (const ColumnGrid& grid : Grids()) {
    const StackLayout layout(store_, heap_, grid, groups_);
    for (const uint64_t min_bytes : {1, 1000, 1 << 20}) {
      const StackTile tile = layout.Lay({.min_bytes = min_bytes, .hidden = {false, true, false}});
      for (uint32_t column = 0; column < grid.column_count(); ++column) {
        uint64_t total_bytes = tile.hidden_bytes[column];
        for (uint32_t group = 0; group < kGroupCount; ++group)
          total_bytes += tile.band_bytes[group * grid.column_count() + column];
        ASSERT_EQ(total_bytes, LiveAt(grid.at_seq[column])) << column;
        ASSERT_EQ(tile.band_bytes[grid.column_count() + column], 0U) << "hidden groups have no band";
      }
    }
  }
}

TEST_P(StackLayoutTest, ThePeakIsInEveryWholeGrid) {
  const Peak peak = index_.LivePeak();
  if (peak.moment.seq() == kNone) GTEST_SKIP() << "The peak of this heap is before its first event.";
  for (const uint32_t columns : {1U, 7U, 100U}) {
    const ColumnGrid grid = Grid(Axis::kSeq, 0, heap_.events.size(), columns);
    uint64_t highest = 0;
    for (const uint32_t seq : grid.at_seq) highest = std::max(highest, LiveAt(seq));
    EXPECT_EQ(highest, peak.bytes);
  }
}

// What a slow reading of the table says: the live rows of each column in order, with their lower edges.
std::map<uint32_t, uint64_t> EdgesAt(const Store& store, const Heap& heap, const RowGroups& groups, Moment at,
                                     bool grouped) {
  std::vector<uint32_t> order;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (IsLive(store.allocations, row, at)) order.push_back(row);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t row) {
      return std::pair(grouped ? groups.group_of_row[row] : 0, store.allocations.alloc_seq[row] != kNone);
    };
    return key(a) < key(b);
  });
  std::map<uint32_t, uint64_t> edges;
  uint64_t y_bytes = 0;
  for (const uint32_t row : order) {
    edges[row] = y_bytes;
    y_bytes += store.allocations.size_bytes[row];
  }
  return edges;
}

TEST_P(StackLayoutTest, EveryRunLiesWhereItsBlockDoes) {
  for (const bool grouped : {true, false}) {
    const ColumnGrid grid = Grids()[1];
    const StackTile tile =
        StackLayout(store_, heap_, grid, groups_).Lay({.strict_allocation_order = !grouped, .min_bytes = 800});
    std::vector<size_t> drawn(grid.column_count(), 0);
    for (const StackRun& run : tile.runs) {
      for (uint16_t column = run.column_begin; column < run.column_end; ++column) {
        if (run.allocation == kNone) continue;
        const auto edges = EdgesAt(store_, heap_, groups_, Moment::AfterEvent(grid.at_seq[column]), grouped);
        ASSERT_TRUE(edges.contains(run.allocation));
        ++drawn[column];
        const uint64_t exact = edges.at(run.allocation);
        const uint64_t distance = exact > run.y0_bytes ? exact - run.y0_bytes : run.y0_bytes - exact;
        ASSERT_LE(distance, tile.y_tolerance_bytes);
        ASSERT_EQ(run.y1_bytes - run.y0_bytes, store_.allocations.size_bytes[run.allocation]);
      }
    }
    for (uint32_t column = 0; column < grid.column_count(); ++column) {
      size_t large = 0;
      for (const auto& [row, edge] : EdgesAt(store_, heap_, groups_, Moment::AfterEvent(grid.at_seq[column]), grouped))
        large += store_.allocations.size_bytes[row] >= tile.min_bytes ? 1 : 0;
      ASSERT_EQ(drawn[column], large) << "each large block once in column " << column;
    }
  }
}

TEST_P(StackLayoutTest, AllocationOrderLeavesNoGap) {
  const ColumnGrid grid = Grids()[1];
  const StackTile tile =
      StackLayout(store_, heap_, grid, groups_).Lay({.strict_allocation_order = true, .min_bytes = 2000});
  std::vector<uint64_t> top(grid.column_count(), 0);
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> pieces(grid.column_count());
  for (const StackRun& run : tile.runs) {
    for (uint16_t column = run.column_begin; column < run.column_end; ++column)
      pieces[column].push_back({run.y0_bytes, run.y1_bytes});
  }
  for (uint32_t column = 0; column < grid.column_count(); ++column) {
    std::sort(pieces[column].begin(), pieces[column].end());
    uint64_t y_bytes = 0;
    for (const auto& [y0, y1] : pieces[column]) {
      ASSERT_EQ(y0, y_bytes) << column;
      y_bytes = y1;
    }
    ASSERT_EQ(y_bytes, LiveAt(grid.at_seq[column])) << column;
  }
}

TEST_P(StackLayoutTest, RaisesTheSmallestBlockUntilTheRunsFit) {
  const ColumnGrid grid = Grids()[1];
  const StackLayout layout(store_, heap_, grid, groups_);
  for (const bool strict : {true, false}) {
    const StackTile tile = layout.Lay({.strict_allocation_order = strict, .max_run_count = 150});
    EXPECT_TRUE(tile.runs.size() <= 150 || tile.min_bytes > 5000) << tile.runs.size();
    EXPECT_GT(tile.min_bytes, 1U);
    EXPECT_GT(tile.merged_count, 0U);
  }
}

TEST_P(StackLayoutTest, PickingFindsTheBlockThatCoversTheHeight) {
  std::mt19937 random(GetParam());
  for (int i = 0; i < 200; ++i) {
    const Moment at = Moment::AfterEvent(static_cast<uint32_t>(random() % heap_.events.size()));
    const uint64_t live_bytes = index_.Live().curve.At(at);
    const uint64_t y_bytes = random() % (live_bytes + 100);
    for (const bool grouped : {true, false}) {
      const uint32_t picked = PickFromStack(store_, heap_, at, groups_, {.strict_allocation_order = !grouped}, y_bytes);
      uint32_t expected = kNone;
      for (const auto& [row, edge] : EdgesAt(store_, heap_, groups_, at, grouped)) {
        if (edge <= y_bytes && y_bytes < edge + store_.allocations.size_bytes[row]) expected = row;
      }
      ASSERT_EQ(picked, expected);
    }
  }
}

// Going up from the lowest block meets every block once, in the order of their edges; going down comes back.
TEST_P(StackLayoutTest, WalksFromBlockToBlock) {
  for (const bool grouped : {true, false}) {
    const Moment at = Moment::AfterEvent(heap_.events.size() / 2);
    const StackOptions options{.strict_allocation_order = !grouped, .min_bytes = 0};
    std::vector<std::pair<uint64_t, uint32_t>> expected;
    for (const auto& [row, edge] : EdgesAt(store_, heap_, groups_, at, grouped)) expected.emplace_back(edge, row);
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    uint32_t row = kNone;
    for (const auto& [edge, expected_row] : expected) {
      const uint32_t before = row;
      row = NextInStack(store_, heap_, at, groups_, options, row, true);
      if (store_.allocations.size_bytes[expected_row] > 0) ASSERT_EQ(row, expected_row);
      if (before != kNone) ASSERT_EQ(NextInStack(store_, heap_, at, groups_, options, row, false), before);
    }
    EXPECT_EQ(NextInStack(store_, heap_, at, groups_, options, row, true), kNone);
  }
}

// What a tile merges is no step of the walk, but the walk may begin on it.
TEST_P(StackLayoutTest, WalksOverBlocksThatAreNotDrawn) {
  constexpr uint64_t kDrawnBytes = 2000;
  const Moment at = Moment::AfterEvent(heap_.events.size() / 2);
  const StackOptions all{.min_bytes = 0};
  const StackOptions drawn{.min_bytes = kDrawnBytes};
  const auto next = [&](const StackOptions& options, uint32_t row) {
    return NextInStack(store_, heap_, at, groups_, options, row, true);
  };
  const auto size = [&](uint32_t row) { return store_.allocations.size_bytes[row]; };
  uint32_t passed = 0;
  for (uint32_t row = next(all, kNone); row != kNone; row = next(all, row)) {
    uint32_t expected = next(all, row);
    while (expected != kNone && size(expected) < kDrawnBytes) {
      ++passed;
      expected = next(all, expected);
    }
    ASSERT_EQ(next(drawn, row), expected);
  }
  EXPECT_GT(passed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StackLayoutTest, testing::Range(1U, 9U));

}  // namespace
}  // namespace memstrata
