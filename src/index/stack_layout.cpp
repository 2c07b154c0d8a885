#include "index/stack_layout.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr uint64_t kToleranceFraction = 8;  // of min_bytes, which is a few pixels: less than half a pixel

// Rows that lived before the recording stand at the end of the table but come first in allocation order.
template <class Visit>
void ForEachInOrder(const AllocationTable& table, const Heap& heap, Visit&& visit) {
  uint32_t first_preexisting = heap.allocations.end;
  while (first_preexisting > heap.allocations.begin && table.alloc_seq[first_preexisting - 1] == kNone)
    --first_preexisting;
  for (uint32_t row = first_preexisting; row < heap.allocations.end; ++row) visit(row);
  for (uint32_t row = heap.allocations.begin; row < first_preexisting; ++row) visit(row);
}

void SortRuns(std::vector<StackRun>& runs) {
  std::sort(runs.begin(), runs.end(), [](const StackRun& a, const StackRun& b) {
    if (a.column_begin != b.column_begin) return a.column_begin < b.column_begin;
    return a.y0_bytes < b.y0_bytes;
  });
}

}  // namespace

StackLayout::StackLayout(const Store& store, const Heap& heap, const ColumnGrid& grid, const RowGroups& groups)
    : store_(store), groups_(groups), first_row_(heap.allocations.begin), column_count_(grid.column_count()) {
  Collect(heap, grid);
}

void StackLayout::Collect(const Heap& heap, const ColumnGrid& grid) {
  const AllocationTable& table = store_.allocations;
  const ColumnLookup lookup(EventCounts(heap, grid));
  const uint32_t range_begin = grid.begin_seq.front();
  const uint32_t range_end = std::max(grid.begin_seq.back(), range_begin + 1);
  ForEachInOrder(table, heap, [&](uint32_t row) {
    const uint32_t alloc_seq = table.alloc_seq[row];
    const uint32_t free_seq = table.free_seq[row];
    const bool touches = (alloc_seq == kNone || alloc_seq < range_end) && free_seq >= range_begin;
    if (!touches) return;
    ++block_count_;
    const uint32_t column_begin = lookup.BeginColumn(alloc_seq);
    const uint32_t column_end = lookup.EndColumn(free_seq);
    if (column_begin < column_end)
      visible_.push_back({row, static_cast<uint16_t>(column_begin), static_cast<uint16_t>(column_end)});
  });
}

void StackLayout::FillBands(const StackOptions& options, StackTile& tile) const {
  const size_t columns = column_count_;
  // First differences, then sums; modulo 2^64, where the sums are exact.
  std::vector<uint64_t> delta(groups_.group_count * (columns + 1), 0);
  for (const VisibleBlock& block : visible_) {
    uint64_t* group_delta = &delta[GroupOf(block.row) * (columns + 1)];
    group_delta[block.column_begin] += store_.allocations.size_bytes[block.row];
    group_delta[block.column_end] -= store_.allocations.size_bytes[block.row];
  }
  tile.band_bytes.assign(groups_.group_count * columns, 0);
  tile.hidden_bytes.assign(columns, 0);
  for (uint32_t group = 0; group < groups_.group_count; ++group) {
    uint64_t total = 0;
    for (size_t column = 0; column < columns; ++column) {
      total += delta[group * (columns + 1) + column];
      if (IsHidden(options, group)) {
        tile.hidden_bytes[column] += total;
      } else {
        tile.band_bytes[group * columns + column] = total;
      }
    }
  }
}

StackTile StackLayout::Lay(const StackOptions& options) const {
  StackTile tile;
  tile.block_count = block_count_;
  tile.min_bytes = std::max<uint64_t>(1, options.min_bytes);
  FillBands(options, tile);
  while (!(options.strict_allocation_order ? LayInOrder(options, tile) : LayGrouped(options, tile))) {
    tile.min_bytes *= 2;
    tile.runs.clear();
  }
  std::vector<uint32_t> drawn;
  for (const StackRun& run : tile.runs) {
    if (run.allocation != kNone) drawn.push_back(run.allocation);
  }
  std::sort(drawn.begin(), drawn.end());
  tile.merged_count = block_count_ - static_cast<uint32_t>(std::unique(drawn.begin(), drawn.end()) - drawn.begin());
  SortRuns(tile.runs);
  return tile;
}

bool StackLayout::LayGrouped(const StackOptions& options, StackTile& tile) const {
  const size_t columns = column_count_;
  tile.y_tolerance_bytes = tile.min_bytes / kToleranceFraction;
  // height[group][column]: upper edge of what is laid in the group so far. It starts at the top of the groups below.
  std::vector<uint64_t> height(groups_.group_count * columns, 0);
  for (uint32_t group = 1; group < groups_.group_count; ++group) {
    for (size_t column = 0; column < columns; ++column) {
      height[group * columns + column] =
          height[(group - 1) * columns + column] + tile.band_bytes[(group - 1) * columns + column];
    }
  }
  for (const VisibleBlock& block : visible_) {
    const uint32_t group = GroupOf(block.row);
    if (IsHidden(options, group)) continue;
    const uint64_t size_bytes = store_.allocations.size_bytes[block.row];
    uint64_t* edge = &height[group * columns];
    if (size_bytes >= tile.min_bytes) {
      StackRun run{block.column_begin,
                   block.column_begin,
                   static_cast<uint16_t>(group),
                   block.row,
                   1,
                   edge[block.column_begin],
                   0};
      for (uint16_t column = block.column_begin; column < block.column_end; ++column) {
        const uint64_t distance =
            edge[column] > run.y0_bytes ? edge[column] - run.y0_bytes : run.y0_bytes - edge[column];
        if (distance <= tile.y_tolerance_bytes) continue;
        run.column_end = column;
        run.y1_bytes = run.y0_bytes + size_bytes;
        tile.runs.push_back(run);
        run.column_begin = column;
        run.y0_bytes = edge[column];
      }
      run.column_end = block.column_end;
      run.y1_bytes = run.y0_bytes + size_bytes;
      tile.runs.push_back(run);
      if (tile.runs.size() > options.max_run_count) return false;
    }
    for (uint16_t column = block.column_begin; column < block.column_end; ++column) edge[column] += size_bytes;
  }
  return true;
}

namespace {

// What lies in each column since its last own block: bytes by group, and how many blocks.
class PendingAreas {
 public:
  PendingAreas(uint32_t group_count, uint32_t column_count)
      : columns_(column_count),
        group_count_(group_count),
        bytes_(size_t{group_count} * column_count, 0),
        count_(column_count, 0),
        top_(column_count, 0) {}

  void AddSmall(const VisibleBlock& block, uint32_t group, uint64_t size_bytes) {
    uint64_t* bytes = &bytes_[size_t{group} * columns_];
    for (uint16_t column = block.column_begin; column < block.column_end; ++column) {
      bytes[column] += size_bytes;
      ++count_[column];
    }
  }

  /// Turns what is pending in columns [begin, end) into runs. The top of each column is then free for the next block.
  void Flush(uint16_t begin, uint16_t end, std::vector<StackRun>& runs) {
    StackRun open;
    for (uint16_t column = begin; column < end; ++column) {
      const StackRun area = Take(column);
      const bool continues = area.y1_bytes > area.y0_bytes && open.column_end == column &&
                             open.column_end > open.column_begin && open.y0_bytes == area.y0_bytes &&
                             open.y1_bytes == area.y1_bytes && open.group == area.group &&
                             open.block_count == area.block_count;
      if (continues) {
        open.column_end = static_cast<uint16_t>(column + 1);
        continue;
      }
      if (open.y1_bytes > open.y0_bytes) runs.push_back(open);
      open = area;
    }
    if (open.y1_bytes > open.y0_bytes) runs.push_back(open);
  }

  uint64_t* top() { return top_.data(); }

 private:
  StackRun Take(uint16_t column) {
    StackRun area{column, static_cast<uint16_t>(column + 1), 0, kNone, count_[column], top_[column], top_[column]};
    uint64_t most_bytes = 0;
    for (uint32_t group = 0; group < group_count_; ++group) {
      uint64_t& bytes = bytes_[size_t{group} * columns_ + column];
      if (bytes > most_bytes) {
        most_bytes = bytes;
        area.group = static_cast<uint16_t>(group);
      }
      area.y1_bytes += bytes;
      bytes = 0;
    }
    count_[column] = 0;
    top_[column] = area.y1_bytes;
    return area;
  }

  uint32_t columns_;
  uint32_t group_count_;
  std::vector<uint64_t> bytes_;
  std::vector<uint32_t> count_;
  std::vector<uint64_t> top_;
};

// The own block as runs: its lower edge is the top of each column.
void AppendBlock(const VisibleBlock& block, uint32_t group, uint64_t size_bytes, uint64_t* top,
                 std::vector<StackRun>& runs) {
  StackRun run{
      block.column_begin, block.column_begin, static_cast<uint16_t>(group), block.row, 1, top[block.column_begin], 0};
  for (uint16_t column = block.column_begin; column < block.column_end; ++column) {
    if (top[column] != run.y0_bytes) {
      run.column_end = column;
      run.y1_bytes = run.y0_bytes + size_bytes;
      runs.push_back(run);
      run.column_begin = column;
      run.y0_bytes = top[column];
    }
    top[column] += size_bytes;
  }
  run.column_end = block.column_end;
  run.y1_bytes = run.y0_bytes + size_bytes;
  runs.push_back(run);
}

}  // namespace

bool StackLayout::LayInOrder(const StackOptions& options, StackTile& tile) const {
  tile.y_tolerance_bytes = 0;
  PendingAreas pending(groups_.group_count, column_count_);
  for (const VisibleBlock& block : visible_) {
    const uint32_t group = GroupOf(block.row);
    if (IsHidden(options, group)) continue;
    const uint64_t size_bytes = store_.allocations.size_bytes[block.row];
    if (size_bytes < tile.min_bytes) {
      pending.AddSmall(block, group, size_bytes);
      continue;
    }
    pending.Flush(block.column_begin, block.column_end, tile.runs);
    AppendBlock(block, group, size_bytes, pending.top(), tile.runs);
    // One block may need a run in every column; where nothing can be merged further, that is the least.
    if (tile.runs.size() > options.max_run_count) return false;
  }
  pending.Flush(0, static_cast<uint16_t>(column_count_), tile.runs);
  const bool nothing_left_to_merge =
      std::none_of(tile.runs.begin(), tile.runs.end(), [](const StackRun& run) { return run.allocation != kNone; });
  return tile.runs.size() <= options.max_run_count || nothing_left_to_merge;
}

namespace {

// Calls `visit` for each row that a tile of this moment would draw without merging, from the bottom up.
template <typename Visit>
void ForEachShown(const Store& store, const Heap& heap, Moment at, const RowGroups& groups, const StackOptions& options,
                  const Visit& visit) {
  const AllocationTable& table = store.allocations;
  const auto group_of = [&](uint32_t row) { return groups.group_of_row[row - heap.allocations.begin]; };
  for (uint32_t group = 0; group < (options.strict_allocation_order ? 1 : groups.group_count); ++group) {
    ForEachInOrder(table, heap, [&](uint32_t row) {
      if (!IsLive(table, row, at) || (!options.hidden.empty() && options.hidden[group_of(row)])) return;
      if (options.strict_allocation_order || group_of(row) == group) visit(row);
    });
  }
}

}  // namespace

uint32_t PickFromStack(const Store& store, const Heap& heap, Moment at, const RowGroups& groups,
                       const StackOptions& options, uint64_t y_bytes) {
  uint64_t base_bytes = 0;
  uint32_t found = kNone;
  ForEachShown(store, heap, at, groups, options, [&](uint32_t row) {
    base_bytes += store.allocations.size_bytes[row];
    if (found == kNone && y_bytes < base_bytes) found = row;
  });
  return found;
}

uint32_t NextInStack(const Store& store, const Heap& heap, Moment at, const RowGroups& groups,
                     const StackOptions& options, uint32_t from_row, bool up) {
  uint32_t before = kNone;  // the row below the one that is visited
  uint32_t first = kNone;
  uint32_t found = kNone;
  bool is_there = false;
  ForEachShown(store, heap, at, groups, options, [&](uint32_t row) {
    if (store.allocations.size_bytes[row] < options.min_bytes && row != from_row) return;
    if (first == kNone) first = row;
    if (up && before == from_row && before != kNone) found = row;
    if (row == from_row) {
      is_there = true;
      if (!up) found = before;
    }
    before = row;
  });
  return is_there ? found : first;
}

}  // namespace memstrata
