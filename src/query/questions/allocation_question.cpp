// allocation: all that is known of one block: its life, its stacks, what lay beside it, and what else came from the
// same place.

#include <fmt/format.h>

#include "base/units.h"
#include "index/heap_state.h"
#include "query/answer_parts.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr size_t kNeighboursPerSide = 3;
constexpr size_t kMostRowsOfSameStack = 200;

// A block or hole beside another, in order of address.
struct Piece {
  uint64_t offset_bytes;
  uint64_t size_bytes;
  uint32_t row;  // kNone: a hole
  bool is_pending;
};

std::vector<Piece> PiecesOf(const HeapState& state, const StateSegment& segment) {
  std::vector<Piece> pieces;
  for (uint32_t i = segment.block_begin; i < segment.block_end; ++i) {
    const StateBlock& block = state.blocks[i];
    pieces.push_back({block.offset_bytes, block.size_bytes, block.allocation, block.is_pending});
  }
  for (uint32_t i = segment.hole_begin; i < segment.hole_end; ++i)
    pieces.push_back({state.holes[i].offset_bytes, state.holes[i].size_bytes, kNone, false});
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.offset_bytes < b.offset_bytes; });
  return pieces;
}

void WriteNeighbour(JsonWriter& json, SessionIndex& session, const Piece& piece, uint32_t row) {
  json.StartObject();
  json.Field("row", KnownRow(piece.row));
  json.Field("size_bytes", piece.size_bytes);
  json.Field("state", piece.row == kNone ? "idle" : piece.is_pending ? "pending" : "live");
  json.Key("category");
  if (piece.row == kNone) {
    json.Null();
  } else {
    json.Value(kCategoryNames[static_cast<size_t>(session.CategoryOfRow()[piece.row])]);
  }
  json.Field("label", std::string_view(piece.row == kNone ? "idle" : RowLabel(session, piece.row)));
  json.Field("is_this", piece.row == row);
  json.EndObject();
}

// Also the pool and size of its segment, which the state at the moment of the allocation tells.
void WriteSurroundings(JsonWriter& json, SessionIndex& session, HeapEntry& heap, uint32_t row) {
  const AllocationTable& table = session.store().allocations;
  const Moment at = table.alloc_seq[row] == kNone ? Moment{0} : Moment::AfterEvent(table.alloc_seq[row]);
  const HeapState state = StateAt(session.store(), heap.heap, at);
  const auto block = std::find_if(state.blocks.begin(), state.blocks.end(),
                                  [row](const StateBlock& b) { return b.allocation == row; });
  const StateSegment* segment = block == state.blocks.end() ? nullptr : &state.segments[block->segment];
  const std::string pool = segment == nullptr ? "" : PoolText(session.store(), segment->pool, segment->kind);
  json.Field("pool", pool.empty() ? std::nullopt : std::optional<std::string_view>(pool));
  json.Field("segment_bytes", segment == nullptr || state.segments_guessed
                                  ? std::nullopt
                                  : std::optional<uint64_t>(segment->size_bytes));
  json.Key("neighbours");
  json.StartArray();
  if (segment != nullptr) {
    const std::vector<Piece> pieces = PiecesOf(state, *segment);
    const auto self = static_cast<size_t>(
        std::find_if(pieces.begin(), pieces.end(), [row](const Piece& p) { return p.row == row; }) - pieces.begin());
    const size_t begin = self - std::min(self, kNeighboursPerSide);
    for (size_t i = begin; i < std::min(pieces.size(), self + kNeighboursPerSide + 1); ++i)
      WriteNeighbour(json, session, pieces[i], row);
  }
  json.EndArray();
}

void WriteSameStack(JsonWriter& json, SessionIndex& session, HeapEntry& heap, uint32_t row) {
  const AllocationTable& table = session.store().allocations;
  std::vector<uint32_t> rows;
  uint64_t count = 0;
  uint64_t bytes = 0;
  for (uint32_t other = heap.heap.allocations.begin; other < heap.heap.allocations.end; ++other) {
    if (table.stack[other] != table.stack[row] || table.stack[row].value == 0) continue;
    ++count;
    bytes += table.size_bytes[other];
    if (rows.size() < kMostRowsOfSameStack) rows.push_back(other);
  }
  json.Key("same_stack");
  json.StartObject();
  json.Field("count", count);
  json.Field("bytes", bytes);
  json.Key("rows");
  json.StartArray();
  for (const uint32_t other : rows) {
    json.StartObject();
    json.Field("row", other);
    json.Field("size_bytes", table.size_bytes[other]);
    json.Field("alloc_seq", KnownRow(table.alloc_seq[other]));
    json.Field("free_seq", KnownRow(table.free_seq[other]));
    json.Field("step", PlaceOf(session, heap, table.alloc_seq[other]).step);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteLife(JsonWriter& json, const AllocationTable& table, const TimeAxis& time, uint32_t row) {
  // A remainder, which a profile tells by its bytes alone, lies nowhere.
  const bool has_address = table.addr[row] != UINT64_MAX;
  const std::string address = FormatAddress(table.addr[row]);
  json.Field("address", has_address ? std::optional<std::string_view>(address) : std::nullopt);
  json.Field("size_bytes", table.size_bytes[row]);
  json.Field("block_bytes", KnownBytes(table.block_bytes[row]));
  json.Field("block_approximate", (table.flags[row] & kBlockApproximate) != 0);
  json.Field("alloc_seq", KnownRow(table.alloc_seq[row]));
  json.Field("free_requested_seq", KnownRow(table.free_requested_seq[row]));
  json.Field("free_seq", KnownRow(table.free_seq[row]));
  json.Field("alloc_offset_ns", time.OffsetAt(table.alloc_seq[row]));
  json.Field("free_offset_ns", time.OffsetAt(table.free_seq[row]));
  json.Field("preexisting", (table.flags[row] & kPreexisting) != 0);
  json.Field("stream", table.stream[row]);
}

// What an XPlane profile says of the block besides.
void WriteProfileDetails(JsonWriter& json, const Store& store, const Heap& heap, uint32_t row) {
  const XPlaneEventTable& details = store.xplane.events;
  const uint32_t alloc_seq = store.allocations.alloc_seq[row];
  const bool is_block = (store.allocations.flags[row] & kReservedStack) == 0;
  const bool known = alloc_seq != kNone && is_block && store.HasXPlaneDetails(heap);
  const auto text = [&](const Column<StringId>& column) {
    const std::string_view value = known ? store.String(column[store.EventRow(heap, alloc_seq)]) : std::string_view();
    return value.empty() ? std::nullopt : std::optional(value);
  };
  json.NullField("category_basis");
  json.Field("op", text(details.op));
  json.Field("shape", text(details.shape));
  json.Field("data_type", text(details.data_type));
}

Result<Answer> AnswerAllocation(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t wanted, parameters.Number("row", UINT32_MAX));
  const AllocationTable& table = session.store().allocations;
  if (wanted < heap->heap.allocations.begin || wanted >= heap->heap.allocations.end)
    return Fail(ErrorCode::kNotFound, fmt::format("Heap {} has no allocation {}.", heap->heap.id, wanted));
  const auto row = static_cast<uint32_t>(wanted);
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("row", row);
    json.Field("heap", heap->index);
    WriteLife(json, table, heap->heap_index.Time(), row);
    json.Field("category", kCategoryNames[static_cast<size_t>(session.CategoryOfRow()[row])]);
    const Place allocated = PlaceOf(session, *heap, table.alloc_seq[row]);
    json.Field("step", allocated.step);
    json.Field("phase", allocated.phase);
    json.Field("free_phase", PlaceOf(session, *heap, table.free_seq[row]).phase);
    WriteProfileDetails(json, session.store(), heap->heap, row);
    json.Field("label", std::string_view(RowLabel(session, row)));
    json.Key("stack");
    WriteStack(json, session, table.stack[row]);
    json.Key("free_stack");
    WriteStack(json, session, table.free_stack[row]);
    json.Field("stack_id", table.stack[row].value == 0 ? std::nullopt : std::optional(table.stack[row].value));
    WriteSurroundings(json, session, *heap, row);
    WriteSameStack(json, session, *heap, row);
  });
}

constexpr std::string_view kParameters[] = {"heap", "row"};

}  // namespace

const QuestionInfo kAllocationQuestion = {"allocation", kParameters, AnswerAllocation};

}  // namespace memstrata
