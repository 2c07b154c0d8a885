// tile: a range of the axis reduced to columns. Kinds: live_curve, alloc_stack, address_map; xla_profile stands in
// profile_tile.cpp.

#include <fmt/format.h>

#include <limits>

#include "index/address_map.h"
#include "index/column_grid.h"
#include "query/questions/questions.h"
#include "query/tile_request.h"

namespace memstrata {
namespace {

constexpr std::string_view kOrders[] = {"grouped", "allocation"};
constexpr uint64_t kMostRuns = 100'000;
constexpr uint64_t kDefaultRuns = 20'000;

struct CurveValues {
  std::vector<uint64_t> min_bytes;
  std::vector<uint64_t> max_bytes;
  std::vector<uint64_t> last_bytes;
};

// The state before the first event belongs to the column that holds the first event.
CurveValues ReduceCurve(const IndexedCurve& indexed, const TileRequest& request) {
  CurveValues values;
  const bool has_events = request.heap->heap.events.size() > 0;
  for (uint32_t column = 0; column < request.grid.column_count(); ++column) {
    const uint32_t begin = request.grid.begin_seq[column];
    const uint32_t end = request.grid.begin_seq[column + 1];
    const uint64_t entry_bytes =
        begin == 0 || !has_events ? indexed.curve.begin_bytes : indexed.curve.after_bytes[begin - 1];
    Extremes extremes{entry_bytes, entry_bytes, 0};
    uint64_t last_bytes = entry_bytes;
    if (has_events && begin < end) {
      extremes = indexed.extremes.Find(begin, end);
      if (begin == 0) extremes.max = std::max(extremes.max, entry_bytes);
      last_bytes = indexed.curve.after_bytes[end - 1];
    }
    values.min_bytes.push_back(extremes.min);
    values.max_bytes.push_back(extremes.max);
    values.last_bytes.push_back(last_bytes);
  }
  return values;
}

std::vector<uint32_t> OutOfMemoryCounts(const TileRequest& request) {
  std::vector<uint32_t> counts(request.grid.column_count(), 0);
  for (const uint32_t seq : request.heap->heap_index.OutOfMemory()) {
    const auto after = std::upper_bound(request.grid.begin_seq.begin(), request.grid.begin_seq.end(), seq);
    if (after != request.grid.begin_seq.begin() && after != request.grid.begin_seq.end())
      ++counts[static_cast<size_t>(after - request.grid.begin_seq.begin()) - 1];
  }
  return counts;
}

Result<Answer> AnswerLiveCurve(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TileRequest request, ReadTileRequest(session, parameters));
  HeapIndex& index = request.heap->heap_index;
  const Capabilities& has = request.heap->heap.capabilities;
  FrameWriter frame("live_curve");
  StartTile(frame, request);
  const CurveValues live = ReduceCurve(index.Live(), request);
  frame.Bytes("live_min_bytes", live.min_bytes);
  frame.Bytes("live_max_bytes", live.max_bytes);
  frame.Bytes("live_last_bytes", live.last_bytes);
  const std::vector<uint64_t> unknown(request.grid.column_count(), kUnknownBytes);
  frame.Bytes("block_max_bytes", has.has_block_bytes ? ReduceCurve(index.Block(), request).max_bytes : unknown);
  const CurveValues reserved =
      has.has_segments ? ReduceCurve(index.Reserved(), request) : CurveValues{unknown, unknown, unknown};
  frame.Bytes("reserved_max_bytes", reserved.max_bytes);
  frame.Bytes("reserved_last_bytes", reserved.last_bytes);
  const IndexedCurve* pending = index.Pending();
  const std::vector<uint64_t> none(request.grid.column_count(), 0);
  frame.Bytes("pending_max_bytes", pending == nullptr ? none : ReduceCurve(*pending, request).max_bytes);
  frame.Values<uint32_t>("oom_count", "count", OutOfMemoryCounts(request));
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

void WriteRuns(FrameWriter& frame, const StackTile& tile) {
  std::vector<uint16_t> column_begin, column_end, group;
  std::vector<uint64_t> y0_bytes, y1_bytes;
  std::vector<uint32_t> allocation, block_count;
  for (const StackRun& run : tile.runs) {
    column_begin.push_back(run.column_begin);
    column_end.push_back(run.column_end);
    y0_bytes.push_back(run.y0_bytes);
    y1_bytes.push_back(run.y1_bytes);
    group.push_back(run.group);
    allocation.push_back(run.allocation);
    block_count.push_back(run.block_count);
  }
  frame.StartTable("runs", tile.runs.size());
  frame.Values<uint16_t>("column_begin", "columns", column_begin);
  frame.Values<uint16_t>("column_end", "columns", column_end);
  frame.Bytes("y0_bytes", y0_bytes);
  frame.Bytes("y1_bytes", y1_bytes);
  frame.Values<uint16_t>("group", "group", group);
  frame.Values<uint32_t>("allocation", "allocation", allocation);
  frame.Values<uint32_t>("block_count", "count", block_count);
}

// Live bytes that no allocation of the file explains. Other than 0 only where a file states the level by itself and
// events are missing from it; negative where frees are.
std::vector<double> UnrecordedBytes(const TileRequest& request, uint32_t group_count, const StackTile& tile) {
  const uint32_t columns = request.grid.column_count();
  HeapIndex& index = request.heap->heap_index;
  std::vector<double> unrecorded;
  for (uint32_t column = 0; column < columns; ++column) {
    uint64_t explained_bytes = tile.hidden_bytes[column];
    for (uint32_t group = 0; group < group_count; ++group) explained_bytes += tile.band_bytes[group * columns + column];
    const uint64_t live_bytes = index.Live().curve.At(index.MomentAt(request.grid.at_seq[column]));
    unrecorded.push_back(static_cast<double>(static_cast<int64_t>(live_bytes - explained_bytes)));
  }
  return unrecorded;
}

Result<Answer> AnswerAllocStack(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TileRequest request, ReadTileRequest(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by, parameters.Choice("group", kGroupByNames, "category"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t order, parameters.Choice("order", kOrders, "grouped"));
  StackOptions options{.strict_allocation_order = order == 1};
  MEMSTRATA_ASSIGN_OR_RETURN(options.min_bytes, parameters.Number("min_bytes", kLargestPosition, 1));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t max_runs, parameters.Number("max_runs", kMostRuns, kDefaultRuns));
  options.max_run_count = static_cast<uint32_t>(std::max<uint64_t>(1, max_runs));
  const Grouping& grouping = session.GroupingOf(*request.heap, static_cast<GroupBy>(by));
  MEMSTRATA_ASSIGN_OR_RETURN(options.hidden, HiddenGroups(parameters, grouping.groups.size()));
  const StackTile tile = StackLayout(session.store(), request.heap->heap, request.grid, grouping.rows).Lay(options);
  FrameWriter frame("alloc_stack");
  StartTile(frame, request);
  frame.Bytes("hidden_bytes", tile.hidden_bytes);
  frame.Values<double>("unrecorded_bytes", "bytes", UnrecordedBytes(request, grouping.rows.group_count, tile));
  WriteGroups(frame.attributes(), grouping);
  frame.attributes().Field("min_bytes", tile.min_bytes);
  frame.attributes().Field("y_tolerance_bytes", tile.y_tolerance_bytes);
  frame.attributes().Field("block_count", tile.block_count);
  frame.attributes().Field("merged_count", tile.merged_count);
  frame.StartTable("bands", tile.band_bytes.size());
  frame.Bytes("bytes", tile.band_bytes);
  WriteRuns(frame, tile);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

void WriteRegions(FrameWriter& frame, const Store& store, const AddressMap& map) {
  std::vector<uint64_t> address, size_bytes, y_bytes;
  std::vector<uint32_t> begin_seq, end_seq, stream;
  std::vector<std::string> pool;
  for (const MapRegion& region : map.regions) {
    address.push_back(region.addr);
    size_bytes.push_back(region.size_bytes);
    y_bytes.push_back(region.y_bytes);
    begin_seq.push_back(region.begin_seq);
    end_seq.push_back(region.end_seq);
    stream.push_back(region.stream);
    pool.push_back(PoolText(store, region.pool, SegmentKind::kUnknown));
  }
  frame.StartTable("regions", map.regions.size());
  frame.Values<uint64_t>("address", "address", address);
  frame.Bytes("size_bytes", size_bytes);
  frame.Bytes("y_bytes", y_bytes);
  frame.Values<uint32_t>("begin_seq", "seq", begin_seq);
  frame.Values<uint32_t>("end_seq", "seq", end_seq);
  frame.Strings("pool", std::vector<std::string_view>(pool.begin(), pool.end()));
  frame.Values<uint32_t>("stream", "stream", stream);
}

void WriteRects(FrameWriter& frame, const AddressMap& map) {
  std::vector<uint16_t> column_begin, column_end, group;
  std::vector<uint64_t> y_bytes, size_bytes;
  std::vector<uint32_t> allocation, block_count;
  for (const MapRect& rect : map.rects) {
    column_begin.push_back(rect.column_begin);
    column_end.push_back(rect.column_end);
    y_bytes.push_back(rect.y_bytes);
    size_bytes.push_back(rect.size_bytes);
    group.push_back(rect.group);
    allocation.push_back(rect.allocation);
    block_count.push_back(rect.block_count);
  }
  frame.StartTable("rects", map.rects.size());
  frame.Values<uint16_t>("column_begin", "columns", column_begin);
  frame.Values<uint16_t>("column_end", "columns", column_end);
  frame.Bytes("y_bytes", y_bytes);
  frame.Bytes("size_bytes", size_bytes);
  frame.Values<uint16_t>("group", "group", group);
  frame.Values<uint32_t>("allocation", "allocation", allocation);
  frame.Values<uint32_t>("block_count", "count", block_count);
}

Result<Answer> AnswerAddressMap(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TileRequest request, ReadTileRequest(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by, parameters.Choice("group", kGroupByNames, "category"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t min_bytes, parameters.Number("min_bytes", kLargestPosition, 1));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t max_rects, parameters.Number("max_rects", kMostRuns, kDefaultRuns));
  const Grouping& grouping = session.GroupingOf(*request.heap, static_cast<GroupBy>(by));
  const StackLayout layout(session.store(), request.heap->heap, request.grid, grouping.rows);
  const AddressMap map = MapAddresses(session.store(), request.heap->heap, request.grid, layout, grouping.rows,
                                      min_bytes, static_cast<uint32_t>(max_rects));
  FrameWriter frame("address_map");
  StartTile(frame, request);
  WriteGroups(frame.attributes(), grouping);
  frame.attributes().Field("height_bytes", map.height_bytes);
  frame.attributes().Field("min_bytes", map.min_bytes);
  frame.attributes().Field("merged_count", map.merged_count);
  frame.attributes().Field("merged_region_count", map.merged_region_count);
  frame.attributes().Field("outside_count", map.outside_count);
  frame.attributes().Field("approximate", map.segments_guessed);
  WriteRegions(frame, session.store(), map);
  WriteRects(frame, map);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

Result<Answer> AnswerTile(SessionIndex& session, const Parameters& parameters) {
  constexpr std::string_view kKinds[] = {"live_curve", "alloc_stack", "address_map", "xla_profile"};
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t kind, parameters.Choice("kind", kKinds, ""));
  switch (kind) {
    case 0:
      return AnswerLiveCurve(session, parameters);
    case 1:
      return AnswerAllocStack(session, parameters);
    case 2:
      return AnswerAddressMap(session, parameters);
    default:
      return AnswerProfileTile(session, parameters);
  }
}

constexpr std::string_view kParameters[] = {"kind",  "heap",  "axis",      "begin",    "end",       "columns",
                                            "group", "order", "min_bytes", "max_runs", "max_rects", "hide"};

}  // namespace

const QuestionInfo kTileQuestion = {"tile", kParameters, AnswerTile};

}  // namespace memstrata
