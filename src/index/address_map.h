#pragma once
// Address against time, reduced to columns: one rectangle per lifetime. The address axis is dense: reserved ranges
// follow each other in address order, what lies between them takes no room.

#include "index/stack_layout.h"

namespace memstrata {

/// A reserved range, or a row of several that are smaller than min_bytes.
struct MapRegion {
  uint64_t addr = 0;
  uint64_t size_bytes = 0;
  uint64_t y_bytes = 0;
  uint32_t begin_seq = kNone;  // kNone: before the recording
  uint32_t end_seq = kNone;    // kNone: reserved at the end
  uint32_t pool = kNone;
  uint32_t stream = 0;
};

struct MapRect {
  uint16_t column_begin = 0;
  uint16_t column_end = 0;
  uint16_t group = 0;
  uint32_t allocation = kNone;  // kNone: several blocks smaller than min_bytes
  uint32_t block_count = 1;     // of a merged rectangle: the most that are live in one of its columns
  uint64_t y_bytes = 0;
  uint64_t size_bytes = 0;
};

struct AddressMap {
  std::vector<MapRegion> regions;  // merged ones first
  std::vector<MapRect> rects;      // merged ones first, so that single blocks are drawn over them
  uint64_t height_bytes = 0;
  uint64_t min_bytes = 0;            // as used
  uint32_t merged_count = 0;         // blocks drawn only as part of a merged rectangle
  uint32_t merged_region_count = 0;  // reserved ranges that are drawn only as part of a merged region
  uint32_t outside_count = 0;        // visible blocks that lie in no recorded segment: not drawn
  bool segments_guessed = false;     // no segments are recorded: ranges of neighbouring blocks stand in
};

/// `layout` and `groups` are of the same heap and grid. min_bytes is doubled until at most `max_rect_count` rectangles
/// and as many regions suffice. Regions and blocks that live between the moments of two columns are not in it. cost:
/// O(visible blocks log segments + rectangles × columns)
AddressMap MapAddresses(const Store& store, const Heap& heap, const ColumnGrid& grid, const StackLayout& layout,
                        const RowGroups& groups, uint64_t min_bytes, uint32_t max_rect_count);

}  // namespace memstrata
