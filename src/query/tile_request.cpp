#include "query/tile_request.h"

namespace memstrata {
namespace {

constexpr std::string_view kAxes[] = {"seq", "time"};

}  // namespace

Result<TileRequest> ReadTileRequest(SessionIndex& session, const Parameters& parameters) {
  TileRequest request;
  MEMSTRATA_ASSIGN_OR_RETURN(request.heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t axis, parameters.Choice("axis", kAxes, "seq"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t begin, parameters.Number("begin", kLargestPosition));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t end, parameters.Number("end", kLargestPosition));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t columns, parameters.Number("columns", 4096));
  request.range = {static_cast<Axis>(axis), begin, end, static_cast<uint32_t>(columns)};
  MEMSTRATA_ASSIGN_OR_RETURN(request.grid, MakeColumnGrid(request.heap->heap_index, request.range));
  return request;
}

void StartTile(FrameWriter& frame, const TileRequest& request) {
  JsonWriter& json = frame.attributes();
  json.Field("heap", request.heap->index);
  json.Field("axis", kAxes[static_cast<size_t>(request.range.axis)]);
  json.Field("begin", request.range.begin);
  json.Field("end", request.range.end);
  json.Field("columns", request.grid.column_count());
  json.Field("event_count", request.heap->heap.events.size() == 0 ? 0U : request.grid.event_count());
  frame.StartTable("columns", request.grid.column_count());
  frame.Values<uint32_t>("begin_seq", "seq", std::span(request.grid.begin_seq).first(request.grid.column_count()));
  frame.Values<uint32_t>("at_seq", "seq", request.grid.at_seq);
}

}  // namespace memstrata
