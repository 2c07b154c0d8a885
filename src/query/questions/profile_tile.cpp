// The tile xla_profile: stack, heap and free memory of an XLA allocator at the highest moment of each column, and the
// highest fragmentation in it.

#include <algorithm>
#include <limits>

#include "query/tile_request.h"

namespace memstrata {
namespace {

constexpr double kUnknownShare = std::numeric_limits<double>::quiet_NaN();

// Of the rows [begin, end), one at least; unknown where the profiler divided by no free bytes.
double HighestFragmentation(const XPlaneEventTable& details, uint32_t begin, uint32_t end) {
  double highest = kUnknownShare;
  for (uint32_t row = begin; row < end; ++row) {
    const bool is_higher = details.nan[row] == 0 && !(details.fragmentation[row] <= highest);
    if (is_higher) highest = details.fragmentation[row];
  }
  return highest;
}

}  // namespace

Result<Answer> AnswerProfileTile(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(TileRequest request, ReadTileRequest(session, parameters));
  const Store& store = session.store();
  const Heap& heap = request.heap->heap;
  if (!store.HasXPlaneDetails(heap)) return Fail(ErrorCode::kInvalidArgument, "This heap has no stack reservation.");
  const XPlaneEventTable& details = store.xplane.events;
  const RangeExtremes& used = request.heap->heap_index.Used().extremes;
  std::vector<uint64_t> stack_bytes, heap_bytes, free_bytes;
  std::vector<double> fragmentation;
  for (uint32_t column = 0; column < request.grid.column_count(); ++column) {
    const uint32_t begin = request.grid.begin_seq[column];
    const uint32_t end = request.grid.begin_seq[column + 1];
    if (begin < end) request.grid.at_seq[column] = used.Find(begin, end).max_index;
    const uint32_t row = heap.events.begin + request.grid.at_seq[column];
    stack_bytes.push_back(details.stack_bytes[row]);
    heap_bytes.push_back(details.heap_bytes[row]);
    free_bytes.push_back(details.free_bytes[row]);
    fragmentation.push_back(begin < end
                                ? HighestFragmentation(details, heap.events.begin + begin, heap.events.begin + end)
                                : HighestFragmentation(details, row, row + 1));
  }
  FrameWriter frame("xla_profile");
  StartTile(frame, request);
  frame.Bytes("stack_bytes", stack_bytes);
  frame.Bytes("heap_bytes", heap_bytes);
  frame.Bytes("free_bytes", free_bytes);
  frame.Values<double>("fragmentation", "fraction", fragmentation);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

}  // namespace memstrata
