#pragma once
// The columns of a tile: a range of the axis cut into equal parts, and the one moment that each of them shows.

#include <vector>

#include "base/result.h"
#include "index/heap_index.h"

namespace memstrata {

enum class Axis : uint8_t { kSeq, kTime };

struct ColumnRange {
  Axis axis = Axis::kSeq;
  uint64_t begin = 0;  // event number, or nanoseconds after the first event
  uint64_t end = 0;    // one after the last
  uint32_t column_count = 0;
};

struct ColumnGrid {
  /// Column i holds the events [begin_seq[i], begin_seq[i + 1]): one entry more than columns.
  std::vector<uint32_t> begin_seq;
  /// The event whose state column i shows: the first with the highest live bytes in it, for an empty column the last
  /// one before it. Never falls from one column to the next.
  std::vector<uint32_t> at_seq;

  uint32_t column_count() const { return static_cast<uint32_t>(at_seq.size()); }
  uint32_t event_count() const { return begin_seq.back() - begin_seq.front(); }
};

/// errors: kInvalidArgument: an empty range, one past the end, no or too many columns, a time axis without times
/// cost: O(columns log n)
Result<ColumnGrid> MakeColumnGrid(HeapIndex& index, const ColumnRange& range);

/// How many events have happened at each column's moment. cost: O(columns)
std::vector<uint32_t> EventCounts(const Heap& heap, const ColumnGrid& grid);

/// Finds the columns that show an event's effect, in constant time: a table over the range, then a short walk.
class ColumnLookup {
 public:
  /// `after_counts`: events that have happened at each column's moment, never falling.
  explicit ColumnLookup(std::vector<uint32_t> after_counts);

  /// The first column whose moment is after event `seq`; the number of columns when there is none.
  uint32_t FirstAfter(uint32_t seq) const {
    if (seq < first_) return 0;
    if (seq >= last_) return static_cast<uint32_t>(counts_.size());
    uint32_t column = table_[(seq - first_) >> shift_];
    while (counts_[column] <= seq) ++column;
    return column;
  }
  /// Columns [BeginColumn, EndColumn) show a block with this life.
  uint32_t BeginColumn(uint32_t alloc_seq) const { return alloc_seq == kNone ? 0 : FirstAfter(alloc_seq); }
  uint32_t EndColumn(uint32_t free_seq) const { return FirstAfter(free_seq); }

 private:
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> table_;
  uint32_t first_ = 0;  // events before this have happened in every column
  uint32_t last_ = 0;   // events from this on have happened in none
  uint32_t shift_ = 0;
};

}  // namespace memstrata
