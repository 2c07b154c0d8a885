// session: what was opened, the heaps and what each of them has. summary, explain, oom, ranks: the objects that the
// verbs of these names print with --json.

#include <fmt/format.h>

#include "query/answer_parts.h"
#include "query/common_json.h"
#include "query/program_space.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

void WriteOpenedSources(JsonWriter& json, const Store& store) {
  json.Key("sources");
  json.StartArray();
  for (const Source& source : store.sources) {
    json.StartObject();
    WriteSourceFields(json, source);
    json.Field("title", std::string_view(source.title));
    json.EndObject();
  }
  json.EndArray();
}

void WriteHas(JsonWriter& json, const Store& store, HeapEntry& entry) {
  const Capabilities& has = entry.heap.capabilities;
  json.Key("has");
  json.StartArray();
  if (entry.heap_index.Time().has_time()) json.Value("time");
  if (has.has_stacks) json.Value("stacks");
  if (HasShapes(store, entry.heap)) json.Value("shapes");
  if (has.has_segments) json.Value("segments");
  if (entry.heap.allocations.size() > 0 && store.allocations.addr[entry.heap.allocations.begin] != 0)
    json.Value("addresses");
  if (has.has_block_bytes) json.Value("block_size");
  if (store.HasXPlaneDetails(entry.heap)) json.Value("stack_reservation");
  if (has.complete_history) json.Value("complete_history");
  json.EndArray();
}

void WriteHeap(JsonWriter& json, SessionIndex& session, HeapEntry& entry) {
  const Heap& heap = entry.heap;
  HeapIndex& index = entry.heap_index;
  json.StartObject();
  json.Field("index", entry.index);
  json.Field("source", heap.source);
  json.Field("id", std::string_view(heap.id));
  json.NullField("device");
  json.Field("kind", kHeapKindNames[static_cast<size_t>(heap.kind)]);
  json.Field("allocator", std::string_view(heap.allocator));
  json.Field("capacity_bytes", KnownBytes(heap.capacity_bytes));
  json.Field("event_count", heap.events.size());
  json.Field("range_end", index.range_end());
  json.Field("allocation_count", heap.allocations.size());
  json.Key("begin_time_ns");
  if (index.Time().has_time()) {
    json.Value(std::string_view(std::to_string(index.Time().begin_ns())));
  } else {
    json.Null();
  }
  json.Field("duration_ns", index.Time().DurationNs());
  json.Key("time_base");
  if (index.Time().has_time()) {
    json.Value(kTimeBaseNames[static_cast<size_t>(heap.time_base)]);
  } else {
    json.Null();
  }
  WriteHas(json, session.store(), entry);
  json.Field("peak_live_seq", KnownRow(index.LivePeak().moment.seq()));
  json.Field("peak_live_bytes", index.LivePeak().bytes);
  std::optional<uint64_t> reserved_peak_bytes;
  if (heap.capabilities.has_segments) reserved_peak_bytes = PeakOf(index.Reserved()).bytes;
  json.Field("peak_is_lower_bound", heap.lower_bound != LowerBoundReason::kExact);
  json.Field("peak_reserved_bytes", reserved_peak_bytes);
  json.Field("default", session.DefaultHeap() == &entry);
  json.EndObject();
}

void WritePrograms(JsonWriter& json, const Store& store) {
  json.Key("programs");
  json.StartArray();
  for (size_t index = 0; index < store.programs.size(); ++index) {
    const Program& program = store.programs[index];
    json.StartObject();
    json.Field("index", uint64_t{index});
    json.Field("name", std::string_view(program.label.empty() ? program.name : program.label));
    json.Field("source", program.source);
    json.Key("spaces");
    json.StartArray();
    for (const int64_t id : SpacesOf(program)) {
      const Result<ProgramSpace> space = DescribeSpace(program, id);
      if (!program.problem.empty() || !space) continue;  // the reader has noted what is wrong with it
      json.StartObject();
      json.Field("id", id);
      json.Field("name", std::string_view(SpaceName(id)));
      json.Field("peak_bytes", space->peak_bytes);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void WriteSettings(JsonWriter& json, const Store& store) {
  json.Key("settings");
  json.StartArray();
  for (size_t source = 0; source < store.sources.size(); ++source) {
    for (const auto& [key, value] : store.sources[source].metadata) {
      json.StartObject();
      json.Field("source", uint64_t{source});
      json.Field("key", std::string_view(key));
      json.Field("value", std::string_view(value));
      json.EndObject();
    }
  }
  json.EndArray();
}

// Tells sessions apart in caches and links: the inputs and what was read from them.
std::string SessionId(const Store& store) {
  std::string identity;
  for (const Source& source : store.sources) identity += fmt::format("{}|{}|", source.file, source.size_bytes);
  for (const Heap& heap : store.heaps)
    identity += fmt::format("{}|{}|{}|", heap.id, heap.events.size(), heap.allocations.size());
  return fmt::format("{:016x}", XXH3_64bits(identity.data(), identity.size()));
}

Result<Answer> AnswerSession(SessionIndex& session, const Parameters& parameters) {
  (void)parameters;
  const Store& store = session.store();
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("schema", "memstrata.session/1");
    json.Field("version", std::string_view(session.version()));
    json.Field("id", std::string_view(SessionId(store)));
    json.Field("simulated", false);
    WriteOpenedSources(json, store);
    json.Key("heaps");
    json.StartArray();
    for (const auto& entry : session.heaps()) WriteHeap(json, session, *entry);
    json.EndArray();
    WritePrograms(json, store);
    WriteSettings(json, store);
    WriteMissing(json, store);
    WriteDiagnostics(json, store);
  });
}

Result<Answer> DocumentAnswer(SessionIndex& session, std::string_view name) {
  MEMSTRATA_ASSIGN_OR_RETURN(std::string text, session.DocumentText(name));
  return Answer{Answer::Type::kJson, std::move(text)};
}

Result<Answer> AnswerSummary(SessionIndex& session, const Parameters&) { return DocumentAnswer(session, "summary"); }
Result<Answer> AnswerExplain(SessionIndex& session, const Parameters&) { return DocumentAnswer(session, "explain"); }
Result<Answer> AnswerOom(SessionIndex& session, const Parameters&) { return DocumentAnswer(session, "oom"); }
Result<Answer> AnswerRanks(SessionIndex& session, const Parameters&) { return DocumentAnswer(session, "ranks"); }

// null for a session that has no such document: it is not one of a measured run, not of an acceptance.
Result<Answer> AnswerIfThere(SessionIndex& session, std::string_view name) {
  Result<std::string> text = session.DocumentText(name);
  if (!text && text.error().code != ErrorCode::kNotFound) return tl::unexpected(std::move(text).error());
  return Answer{Answer::Type::kJson, text ? *std::move(text) : "null"};
}
Result<Answer> AnswerLedger(SessionIndex& session, const Parameters&) { return AnswerIfThere(session, "ledger"); }
Result<Answer> AnswerAcceptance(SessionIndex& session, const Parameters&) {
  return AnswerIfThere(session, "acceptance");
}

}  // namespace

const QuestionInfo kSessionQuestion = {"session", {}, AnswerSession};
const QuestionInfo kSummaryQuestion = {"summary", {}, AnswerSummary};
const QuestionInfo kExplainQuestion = {"explain", {}, AnswerExplain};
const QuestionInfo kOomQuestion = {"oom", {}, AnswerOom};
const QuestionInfo kRanksQuestion = {"ranks", {}, AnswerRanks};
const QuestionInfo kLedgerQuestion = {"ledger", {}, AnswerLedger};
const QuestionInfo kAcceptanceQuestion = {"acceptance", {}, AnswerAcceptance};

}  // namespace memstrata
