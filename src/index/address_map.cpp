#include "index/address_map.h"

#include <algorithm>
#include <map>

#include "index/heap_state.h"

namespace memstrata {
namespace {

constexpr uint64_t kGuessedGapBytes = 2ULL << 20;

// A stretch of addresses that is on the axis.
struct Stretch {
  uint64_t begin;
  uint64_t end;
  uint64_t y_bytes;
};

// Unites ranges that touch or lie less than `gap_bytes` apart, and stacks what is left.
std::vector<Stretch> Unite(std::vector<Stretch> ranges, uint64_t gap_bytes) {
  std::sort(ranges.begin(), ranges.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> united;
  for (const Stretch& range : ranges) {
    if (!united.empty() && range.begin <= united.back().end + gap_bytes) {
      united.back().end = std::max(united.back().end, range.end);
    } else {
      united.push_back(range);
    }
  }
  uint64_t y_bytes = 0;
  for (Stretch& stretch : united) {
    stretch.y_bytes = y_bytes;
    y_bytes += stretch.end - stretch.begin;
  }
  return united;
}

// Where an address lies on the axis, kUnknownBytes when in no stretch.
uint64_t PlaceOf(const std::vector<Stretch>& stretches, uint64_t addr) {
  const auto after = std::upper_bound(stretches.begin(), stretches.end(), addr,
                                      [](uint64_t wanted, const Stretch& s) { return wanted < s.begin; });
  if (after == stretches.begin()) return kUnknownBytes;
  const Stretch& stretch = *std::prev(after);
  return addr < stretch.end ? stretch.y_bytes + (addr - stretch.begin) : kUnknownBytes;
}

// The address at a place of the axis.
uint64_t AddressAt(const std::vector<Stretch>& stretches, uint64_t y_bytes) {
  const auto after = std::upper_bound(stretches.begin(), stretches.end(), y_bytes,
                                      [](uint64_t wanted, const Stretch& s) { return wanted < s.y_bytes; });
  const Stretch& stretch = *std::prev(after);
  return stretch.begin + (y_bytes - stretch.y_bytes);
}

std::vector<Stretch> StretchesOf(const Store& store, const Heap& heap, const ColumnGrid& grid,
                                 const StackLayout& layout, AddressMap& map) {
  std::vector<Stretch> ranges;
  const SegmentTable& table = store.segments;
  const uint32_t range_begin = grid.begin_seq.front();
  const uint32_t range_end = std::max(grid.begin_seq.back(), range_begin + 1);
  for (uint32_t row = heap.segments.begin; row < heap.segments.end; ++row) {
    const bool touches =
        (table.begin_seq[row] == kNone || table.begin_seq[row] < range_end) && table.end_seq[row] >= range_begin;
    if (!touches || table.addr[row] + table.size_bytes[row] < table.addr[row]) continue;
    ranges.push_back({table.addr[row], table.addr[row] + table.size_bytes[row], 0});
    map.regions.push_back({table.addr[row], table.size_bytes[row], 0, table.begin_seq[row], table.end_seq[row],
                           table.pool[row], table.stream[row]});
  }
  map.segments_guessed = heap.segments.size() == 0;
  if (!map.segments_guessed) return Unite(std::move(ranges), 0);
  for (const VisibleBlock& block : layout.visible()) {
    const uint64_t addr = store.allocations.addr[block.row];
    const uint64_t end = addr + BlockBytesOrRequested(store.allocations, block.row);
    if (addr != kUnknownBytes && end >= addr) ranges.push_back({addr, end, 0});
  }
  std::vector<Stretch> united = Unite(std::move(ranges), kGuessedGapBytes);
  for (const Stretch& stretch : united)
    map.regions.push_back({stretch.begin, stretch.end - stretch.begin, stretch.y_bytes});
  return united;
}

// Blocks too small for a rectangle of their own, in rows of min_bytes: where any of them lives, the row is filled.
class MergedRows {
 public:
  explicit MergedRows(uint32_t column_count) : column_count_(column_count) {}

  void Add(uint64_t row, const VisibleBlock& block, uint16_t group) {
    auto [entry, is_new] = rows_.try_emplace(row);
    if (is_new) entry->second = {std::vector<int32_t>(column_count_ + 1, 0), group};
    ++entry->second.delta[block.column_begin];
    --entry->second.delta[block.column_end];
  }
  void AppendRects(uint64_t row_bytes, std::vector<MapRect>& rects) const {
    for (const auto& [row, cells] : rows_) {
      int32_t live = 0;
      MapRect rect;
      for (uint32_t column = 0; column <= column_count_; ++column) {
        const int32_t before = live;
        live += cells.delta[column];
        if (before == 0 && live > 0)
          rect = {static_cast<uint16_t>(column), 0, cells.group, kNone, 0, row * row_bytes, row_bytes};
        rect.block_count = std::max(rect.block_count, static_cast<uint32_t>(live));
        if (before > 0 && live == 0) {
          rect.column_end = static_cast<uint16_t>(column);
          rects.push_back(rect);
        }
      }
    }
  }

 private:
  struct Cells {
    std::vector<int32_t> delta;
    uint16_t group = 0;  // of the first block in it
  };
  uint32_t column_count_;
  std::map<uint64_t, Cells> rows_;
};

// The regions as drawn: small ones as rows, each of its own otherwise. False when there are too many.
bool LayRegions(const std::vector<MapRegion>& all, const ColumnGrid& grid, const ColumnLookup& lookup,
                const std::vector<Stretch>& stretches, uint32_t max_region_count, AddressMap& map) {
  map.regions.clear();
  map.merged_region_count = 0;
  MergedRows merged(grid.column_count());
  std::vector<MapRegion> own;
  for (const MapRegion& region : all) {
    const auto begin = static_cast<uint16_t>(lookup.BeginColumn(region.begin_seq));
    const auto end = static_cast<uint16_t>(lookup.EndColumn(region.end_seq));
    if (begin >= end) continue;
    if (region.size_bytes >= map.min_bytes) {
      own.push_back(region);
      if (own.size() > max_region_count) return false;
    } else {
      ++map.merged_region_count;
      merged.Add(region.y_bytes / map.min_bytes, {kNone, begin, end}, 0);
    }
  }
  std::vector<MapRect> rows;
  merged.AppendRects(map.min_bytes, rows);
  if (rows.size() + own.size() > max_region_count) return false;
  for (const MapRect& row : rows) {
    const bool to_the_end = row.column_end == grid.column_count();
    map.regions.push_back({AddressAt(stretches, row.y_bytes), row.size_bytes, row.y_bytes,
                           row.column_begin == 0 ? kNone : grid.begin_seq[row.column_begin],
                           to_the_end ? kNone : grid.begin_seq[row.column_end]});
  }
  map.regions.insert(map.regions.end(), own.begin(), own.end());
  return true;
}

bool LayRects(const Store& store, const Heap& heap, const ColumnGrid& grid, const StackLayout& layout,
              const RowGroups& groups, const std::vector<Stretch>& stretches, uint32_t max_rect_count,
              AddressMap& map) {
  map.rects.clear();
  map.merged_count = 0;
  map.outside_count = 0;
  MergedRows merged(grid.column_count());
  std::vector<MapRect> own;
  for (const VisibleBlock& block : layout.visible()) {
    const uint64_t y_bytes = PlaceOf(stretches, store.allocations.addr[block.row]);
    const uint16_t group = groups.group_of_row[block.row - heap.allocations.begin];
    const uint64_t size_bytes = BlockBytesOrRequested(store.allocations, block.row);
    if (y_bytes == kUnknownBytes) {
      ++map.outside_count;
    } else if (size_bytes >= map.min_bytes) {
      own.push_back({block.column_begin, block.column_end, group, block.row, 1, y_bytes, size_bytes});
      if (own.size() > max_rect_count) return false;
    } else {
      ++map.merged_count;
      merged.Add(y_bytes / map.min_bytes, block, group);
    }
  }
  merged.AppendRects(map.min_bytes, map.rects);
  map.rects.insert(map.rects.end(), own.begin(), own.end());
  return map.rects.size() <= max_rect_count;
}

}  // namespace

AddressMap MapAddresses(const Store& store, const Heap& heap, const ColumnGrid& grid, const StackLayout& layout,
                        const RowGroups& groups, uint64_t min_bytes, uint32_t max_rect_count) {
  AddressMap map;
  const std::vector<Stretch> stretches = StretchesOf(store, heap, grid, layout, map);
  for (MapRegion& region : map.regions) region.y_bytes = PlaceOf(stretches, region.addr);
  map.height_bytes = stretches.empty() ? 0 : stretches.back().y_bytes + (stretches.back().end - stretches.back().begin);
  // Below one row in 4,096 nothing can be told apart on a screen; it also bounds the rows of merged blocks.
  map.min_bytes = std::max({min_bytes, uint64_t{1}, map.height_bytes / 4096});
  const std::vector<MapRegion> all = std::move(map.regions);
  const ColumnLookup lookup(EventCounts(heap, grid));
  const uint32_t most = std::max(1U, max_rect_count);
  while (!LayRects(store, heap, grid, layout, groups, stretches, most, map) ||
         !LayRegions(all, grid, lookup, stretches, most, map)) {
    if (map.min_bytes > map.height_bytes) break;  // one row is left: nothing more can be merged
    map.min_bytes *= 2;
  }
  return map;
}

}  // namespace memstrata
