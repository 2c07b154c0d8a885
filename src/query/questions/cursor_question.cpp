// cursor: the bytes of a heap at one event. seek: the event at a time. pick: the block at a height of the stack.

#include "query/answer_parts.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr uint64_t kLargestNumber = (1ULL << 53) - 1;
constexpr std::string_view kOrders[] = {"grouped", "allocation"};

Result<Answer> AnswerCursor(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t seq, SeqOf(*heap, parameters, "seq"));
  return JsonAnswer([&](JsonWriter& json) { WriteCursor(json, session, *heap, seq); });
}

Result<Answer> AnswerSeek(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t offset_ns, parameters.Number("offset_ns", kLargestNumber));
  const TimeAxis& time = heap->heap_index.Time();
  if (!time.has_time()) return Fail(ErrorCode::kInvalidArgument, "This heap has no times.");
  // The last event at or before the time is the one before the first that is later.
  const uint32_t later = time.FirstAtOrAfter(static_cast<double>(offset_ns + 1));
  return JsonAnswer([&](JsonWriter& json) { json.Field("seq", later == 0 ? 0 : later - 1); });
}

constexpr std::string_view kDirections[] = {"up", "down"};

Result<Answer> AnswerPick(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t seq, SeqOf(*heap, parameters, "seq"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by, parameters.Choice("group", kGroupByNames, "category"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t order, parameters.Choice("order", kOrders, "grouped"));
  const Grouping& grouping = session.GroupingOf(*heap, static_cast<GroupBy>(by));
  StackOptions options{.strict_allocation_order = order == 1};
  MEMSTRATA_ASSIGN_OR_RETURN(options.hidden, HiddenGroups(parameters, grouping.groups.size()));
  const Moment at = heap->heap_index.MomentAt(seq);
  uint32_t row = kNone;
  if (parameters.Has("to")) {
    MEMSTRATA_ASSIGN_OR_RETURN(const size_t direction, parameters.Choice("to", kDirections, "up"));
    MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t from, parameters.Number("from", kNone, uint64_t{kNone}));
    MEMSTRATA_ASSIGN_OR_RETURN(options.min_bytes, parameters.Number("min_bytes", kLargestNumber, 0));
    row = NextInStack(session.store(), heap->heap, at, grouping.rows, options, static_cast<uint32_t>(from),
                      direction == 0);
  } else {
    MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t y_bytes, parameters.Number("y_bytes", kLargestNumber));
    row = PickFromStack(session.store(), heap->heap, at, grouping.rows, options, y_bytes);
  }
  return JsonAnswer([&](JsonWriter& json) { json.Field("allocation", KnownRow(row)); });
}

constexpr std::string_view kCursorParameters[] = {"heap", "seq"};
constexpr std::string_view kSeekParameters[] = {"heap", "offset_ns"};
constexpr std::string_view kPickParameters[] = {"heap", "seq",  "y_bytes", "group",    "order",
                                                "hide", "from", "to",      "min_bytes"};

}  // namespace

const QuestionInfo kCursorQuestion = {"cursor", kCursorParameters, AnswerCursor};
const QuestionInfo kSeekQuestion = {"seek", kSeekParameters, AnswerSeek};
const QuestionInfo kPickQuestion = {"pick", kPickParameters, AnswerPick};

}  // namespace memstrata
