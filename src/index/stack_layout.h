#pragma once
// Live allocations as a stack over time, reduced to columns: every column shows one moment, and in it every group's
// bytes exactly; single blocks are drawn from `min_bytes` on. Totals never depend on the detail.
//
//   StackLayout layout(store, heap, grid moments, groups);
//   StackTile tile = layout.Lay({.min_bytes = 1 << 20});
//
// "Allocation order" is: blocks from before the recording, then the rows of the table.

#include <span>
#include <vector>

#include "index/column_grid.h"

namespace memstrata {

/// Which group each allocation of a heap belongs to.
struct RowGroups {
  std::vector<uint8_t> group_of_row;  // [heap.allocations.size()], index = row - heap.allocations.begin
  uint32_t group_count = 0;
};

struct StackOptions {
  bool strict_allocation_order = false;  // else one band per group, from the bottom up
  uint64_t min_bytes = 1;
  uint32_t max_run_count = 20'000;  // min_bytes is doubled until so many suffice
  std::vector<bool> hidden;         // by group; empty = none
};

/// A rectangle: columns [column_begin, column_end), bytes [y0_bytes, y1_bytes) from the bottom of the stack.
struct StackRun {
  uint16_t column_begin = 0;
  uint16_t column_end = 0;
  uint16_t group = 0;
  uint32_t allocation = kNone;  // kNone: an area of merged blocks, whose group is the one with most bytes in it
  uint32_t block_count = 1;
  uint64_t y0_bytes = 0;
  uint64_t y1_bytes = 0;
};

struct StackTile {
  uint64_t min_bytes = 0;              // as used
  uint64_t y_tolerance_bytes = 0;      // a run's place may be off by so much in a column; its height is exact
  std::vector<uint64_t> band_bytes;    // [group * columns + column]; hidden groups are 0
  std::vector<uint64_t> hidden_bytes;  // [column]
  std::vector<StackRun> runs;          // by column_begin, then y0_bytes
  uint32_t block_count = 0;            // allocations that are live somewhere in the range
  uint32_t merged_count = 0;           // of these, the ones without a run of their own
};

/// Blocks that are live at the moment of at least one column, in allocation order.
struct VisibleBlock {
  uint32_t row;
  uint16_t column_begin;
  uint16_t column_end;
};

class StackLayout {
 public:
  /// Refers to `groups`. cost: O(allocations of the heap)
  StackLayout(const Store& store, const Heap& heap, const ColumnGrid& grid, const RowGroups& groups);

  /// cost: O(visible blocks + blocks drawn × columns)
  StackTile Lay(const StackOptions& options) const;
  std::span<const VisibleBlock> visible() const { return visible_; }

 private:
  void Collect(const Heap& heap, const ColumnGrid& grid);
  void FillBands(const StackOptions& options, StackTile& tile) const;
  /// False when more runs than allowed would come.
  bool LayGrouped(const StackOptions& options, StackTile& tile) const;
  bool LayInOrder(const StackOptions& options, StackTile& tile) const;
  bool IsHidden(const StackOptions& options, uint32_t group) const {
    return !options.hidden.empty() && options.hidden[group];
  }
  uint32_t GroupOf(uint32_t row) const { return groups_.group_of_row[row - first_row_]; }

  const Store& store_;
  const RowGroups& groups_;
  uint32_t first_row_;
  uint32_t column_count_;
  uint32_t block_count_ = 0;
  std::vector<VisibleBlock> visible_;
};

/// The block at a height of the stack at one moment, as a tile of that moment would draw it without merging; kNone
/// above the stack. cost: O(allocations of the heap)
uint32_t PickFromStack(const Store& store, const Heap& heap, Moment at, const RowGroups& groups,
                       const StackOptions& options, uint64_t y_bytes);

/// The block on or under `from_row` in that stack, kNone at its end; where `from_row` is not in it, the lowest block.
/// Blocks below `options.min_bytes` are passed over.
/// cost: O(allocations of the heap)
uint32_t NextInStack(const Store& store, const Heap& heap, Moment at, const RowGroups& groups,
                     const StackOptions& options, uint32_t from_row, bool up);

}  // namespace memstrata
