// range: what happened between two events. events: the events themselves. spans: recorded annotations and program runs.

#include <algorithm>
#include <array>

#include "query/answer_parts.h"
#include "query/questions/questions.h"
#include "query/selection.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostEvents = 1000;
constexpr uint64_t kMostSpans = 10'000;

struct RangeSums {
  uint64_t allocated_bytes = 0, allocated_count = 0, freed_bytes = 0, freed_count = 0, survived_bytes = 0,
           survived_count = 0;
  std::array<uint64_t, std::size(kCategoryNames)> allocated_by_category{};
  std::array<uint64_t, std::size(kCategoryNames)> survived_by_category{};
};

RangeSums SumRange(SessionIndex& session, const HeapEntry& heap, SeqRange range) {
  const AllocationTable& table = session.store().allocations;
  const std::vector<Category>& categories = session.CategoryOfRow();
  RangeSums sums;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    const uint64_t size_bytes = table.size_bytes[row];
    const auto category = static_cast<size_t>(categories[row]);
    const auto inside = [&](uint32_t seq) { return seq >= range.begin && seq < range.end; };
    if (inside(table.free_seq[row])) {
      sums.freed_bytes += size_bytes;
      ++sums.freed_count;
    }
    if (!inside(table.alloc_seq[row])) continue;
    sums.allocated_bytes += size_bytes;
    ++sums.allocated_count;
    sums.allocated_by_category[category] += size_bytes;
    if (table.free_seq[row] < range.end) continue;
    sums.survived_bytes += size_bytes;
    ++sums.survived_count;
    sums.survived_by_category[category] += size_bytes;
  }
  return sums;
}

void WriteCategories(JsonWriter& json, const RangeSums& sums) {
  json.Key("by_category");
  json.StartArray();
  for (size_t category = 0; category < std::size(kCategoryNames); ++category) {
    if (sums.allocated_by_category[category] == 0) continue;
    json.StartObject();
    json.Field("category", kCategoryNames[category]);
    json.Field("allocated_bytes", sums.allocated_by_category[category]);
    json.Field("survived_bytes", sums.survived_by_category[category]);
    json.EndObject();
  }
  json.EndArray();
}

// Highest live bytes after any event of the range, and the first event after which they were reached.
Peak PeakIn(HeapIndex& index, SeqRange range) {
  if (index.heap().events.size() == 0) return {index.Live().curve.begin_bytes, {}};
  const Extremes extremes = index.Live().extremes.Find(range.begin, range.end);
  return {extremes.max, Moment::AfterEvent(extremes.max_index)};
}

Result<Answer> AnswerRange(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const SeqRange range, RangeOf(*heap, parameters));
  HeapIndex& index = heap->heap_index;
  const RangeSums sums = SumRange(session, *heap, range);
  const Peak peak = PeakIn(index, range);
  const bool has_events = heap->heap.events.size() > 0;
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("begin_seq", range.begin);
    json.Field("end_seq", range.end);
    const std::optional<int64_t> begin_ns = index.Time().OffsetAt(range.begin);
    const std::optional<int64_t> end_ns = index.Time().OffsetAt(range.end - 1);
    json.Field("duration_ns", begin_ns && end_ns ? std::optional(*end_ns - *begin_ns) : std::nullopt);
    json.Field("allocated_bytes", sums.allocated_bytes);
    json.Field("allocated_count", sums.allocated_count);
    json.Field("freed_bytes", sums.freed_bytes);
    json.Field("freed_count", sums.freed_count);
    json.Field("survived_bytes", sums.survived_bytes);
    json.Field("survived_count", sums.survived_count);
    json.Field("live_begin_bytes", index.Live().curve.At(Moment{has_events ? range.begin : 0}));
    json.Field("live_end_bytes", index.Live().curve.At(Moment{has_events ? range.end : 0}));
    json.Field("peak_bytes", peak.bytes);
    json.Field("peak_seq", peak.moment.seq() == kNone ? 0 : peak.moment.seq());
    WriteCategories(json, sums);
  });
}

void WriteEventRow(JsonWriter& json, SessionIndex& session, HeapEntry& heap, uint32_t seq) {
  const Store& store = session.store();
  const uint32_t row = store.EventRow(heap.heap, seq);
  const uint32_t allocation = store.events.allocation[row];
  json.Field("seq", seq);
  json.Field("offset_ns", heap.heap_index.Time().OffsetAt(seq));
  WriteEventFields(json, store, row);
  json.Field("label",
             std::string_view(allocation != kNone ? RowLabel(session, allocation)
                                                  : StackLabel(store, session.Useful(), store.events.stack[row])));
}

Result<Answer> AnswerEvents(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t begin, SeqOf(*heap, parameters, "begin"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, parameters.Number("count", kMostEvents, 200));
  const uint64_t end = std::min<uint64_t>(heap->heap.events.size(), begin + count);
  return JsonAnswer([&](JsonWriter& json) {
    json.Key("rows");
    json.StartArray();
    for (uint32_t seq = begin; seq < end; ++seq) {
      json.StartObject();
      WriteEventRow(json, session, *heap, seq);
      json.EndObject();
    }
    json.EndArray();
  });
}

struct SpanRow {
  uint32_t row;
  uint32_t begin_seq;
  uint32_t end_seq;
};

// Spans of the heap, or of the whole session placed on it by time, that touch the range.
std::vector<SpanRow> SpansIn(SessionIndex& session, HeapEntry& heap, SeqRange range) {
  const SpanTable& spans = session.store().spans;
  const TimeAxis& time = heap.heap_index.Time();
  std::vector<SpanRow> rows;
  for (uint32_t row = 0; row < spans.size(); ++row) {
    if (spans.heap[row] != kNone && spans.heap[row] != heap.index) continue;
    SpanRow span{row, spans.begin_seq[row], spans.end_seq[row]};
    if (spans.heap[row] == kNone) {
      if (!time.has_time()) continue;
      const auto place = [&](int64_t time_ns, uint32_t otherwise) {
        return time_ns == kNoTime ? otherwise : time.FirstAtOrAfter(static_cast<double>(time_ns - time.begin_ns()));
      };
      span.begin_seq = place(spans.begin_ns[row], 0);
      span.end_seq = place(spans.end_ns[row], heap.heap_index.range_end());
    }
    if (span.begin_seq == kNone) span.begin_seq = 0;
    span.end_seq = std::min(span.end_seq, heap.heap_index.range_end());
    if (span.begin_seq < range.end && span.end_seq >= range.begin) rows.push_back(span);
  }
  std::sort(rows.begin(), rows.end(), [](const SpanRow& a, const SpanRow& b) {
    return std::pair(a.begin_seq, a.row) < std::pair(b.begin_seq, b.row);
  });
  return rows;
}

// The run of a program behind a span, by span; nullptr for other spans.
std::vector<const XPlaneModule*> ModuleOfSpan(const Store& store) {
  std::vector<const XPlaneModule*> modules(store.spans.size(), nullptr);
  for (const XPlaneModule& module : store.xplane.modules) {
    if (module.span != kNone) modules[module.span] = &module;
  }
  return modules;
}

void WriteSpan(JsonWriter& json, SessionIndex& session, HeapEntry& heap, const SpanRow& span,
               const XPlaneModule* module) {
  const SpanTable& spans = session.store().spans;
  const TimeAxis& time = heap.heap_index.Time();
  const int64_t begin_ns = spans.begin_ns[span.row];
  const int64_t end_ns = spans.end_ns[span.row];
  json.StartObject();
  json.Field("kind", spans.kind[span.row] == SpanKind::kModule
                         ? "program_run"
                         : kSpanKindNames[static_cast<size_t>(spans.kind[span.row])]);
  json.Field("name", session.store().String(spans.name[span.row]));
  const Store& store = session.store();
  json.Field("device", module == nullptr ? std::nullopt : std::optional(store.String(module->plane)));
  json.NullField("run_id");
  json.Field("depth", uint32_t{spans.depth[span.row]});
  json.Field("begin_seq", span.begin_seq);
  json.Field("end_seq", span.end_seq);
  json.Field("begin_offset_ns",
             begin_ns == kNoTime || !time.has_time() ? std::nullopt : std::optional(begin_ns - time.begin_ns()));
  json.Field("duration_ns", begin_ns == kNoTime || end_ns == kNoTime ? std::nullopt : std::optional(end_ns - begin_ns));
  json.EndObject();
}

Result<Answer> AnswerSpans(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const SeqRange range, RangeOf(*heap, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t limit, parameters.Number("limit", kMostSpans, 2000));
  const std::vector<SpanRow> rows = SpansIn(session, *heap, range);
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("total", uint64_t{rows.size()});
    json.Key("rows");
    json.StartArray();
    const std::vector<const XPlaneModule*> modules = ModuleOfSpan(session.store());
    for (size_t i = 0; i < std::min<size_t>(rows.size(), limit); ++i)
      WriteSpan(json, session, *heap, rows[i], modules[rows[i].row]);
    json.EndArray();
  });
}

constexpr std::string_view kRangeParameters[] = {"heap", "begin", "end"};
constexpr std::string_view kEventsParameters[] = {"heap", "begin", "count"};
constexpr std::string_view kSpansParameters[] = {"heap", "begin", "end", "limit"};

}  // namespace

const QuestionInfo kRangeQuestion = {"range", kRangeParameters, AnswerRange};
const QuestionInfo kEventsQuestion = {"events", kEventsParameters, AnswerEvents};
const QuestionInfo kSpansQuestion = {"spans", kSpansParameters, AnswerSpans};

}  // namespace memstrata
