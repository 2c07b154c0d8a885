#include "index/column_grid.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr uint32_t kLargestColumnCount = 4096;
constexpr uint32_t kTableEntriesPerColumn = 8;

Status Check(HeapIndex& index, const ColumnRange& range) {
  if (range.begin >= range.end) return Fail(ErrorCode::kInvalidArgument, "The range is empty.");
  if (range.column_count == 0 || range.column_count > kLargestColumnCount)
    return Fail(ErrorCode::kInvalidArgument, "There are 1 to 4,096 columns.");
  if (range.axis == Axis::kTime) {
    const std::optional<int64_t> duration_ns = index.Time().DurationNs();
    if (!duration_ns) return Fail(ErrorCode::kInvalidArgument, "This heap has no times; use the order of events.");
    if (range.begin > static_cast<uint64_t>(*duration_ns))
      return Fail(ErrorCode::kInvalidArgument, "The range begins after the last event.");
    return {};
  }
  if (range.end > index.range_end()) return Fail(ErrorCode::kInvalidArgument, "The range ends after the last event.");
  if (range.column_count > range.end - range.begin)
    return Fail(ErrorCode::kInvalidArgument, "There are more columns than events.");
  return {};
}

uint32_t EdgeOf(HeapIndex& index, const ColumnRange& range, uint32_t column) {
  const uint64_t width = range.end - range.begin;
  if (range.axis == Axis::kSeq) return static_cast<uint32_t>(range.begin + width * column / range.column_count);
  const TimeAxis& time = index.Time();
  // The last column also holds the events at the very end of the recording.
  if (column == range.column_count && range.end >= static_cast<uint64_t>(*time.DurationNs()))
    return index.heap().events.size();
  return time.FirstAtOrAfter(static_cast<double>(range.begin) +
                             static_cast<double>(width) * column / range.column_count);
}

}  // namespace

Result<ColumnGrid> MakeColumnGrid(HeapIndex& index, const ColumnRange& range) {
  MEMSTRATA_TRY(Check(index, range));
  ColumnGrid grid;
  grid.begin_seq.reserve(range.column_count + 1);
  grid.at_seq.reserve(range.column_count);
  for (uint32_t column = 0; column <= range.column_count; ++column)
    grid.begin_seq.push_back(EdgeOf(index, range, column));
  const bool has_events = index.heap().events.size() > 0;
  for (uint32_t column = 0; column < range.column_count; ++column) {
    const uint32_t begin = grid.begin_seq[column];
    const uint32_t end = grid.begin_seq[column + 1];
    const bool empty = begin >= end || !has_events;
    grid.at_seq.push_back(empty ? (begin == 0 ? 0 : begin - 1) : index.Live().extremes.Find(begin, end).max_index);
  }
  return grid;
}

std::vector<uint32_t> EventCounts(const Heap& heap, const ColumnGrid& grid) {
  std::vector<uint32_t> counts(grid.at_seq.begin(), grid.at_seq.end());
  for (uint32_t& count : counts) count = heap.events.size() == 0 ? 0 : count + 1;
  return counts;
}

ColumnLookup::ColumnLookup(std::vector<uint32_t> after_counts) : counts_(std::move(after_counts)) {
  first_ = counts_.front();
  last_ = counts_.back();
  const uint64_t width = last_ - first_;
  while ((width >> shift_) > counts_.size() * kTableEntriesPerColumn) ++shift_;
  table_.reserve((width >> shift_) + 1);
  uint32_t column = 0;
  for (uint64_t entry = 0; entry <= width >> shift_; ++entry) {
    const uint64_t seq = first_ + (entry << shift_);
    while (column + 1 < counts_.size() && counts_[column] <= seq) ++column;
    table_.push_back(column);
  }
}

}  // namespace memstrata
