#pragma once
// Parts that several answers share.

#include "query/frame.h"
#include "query/question.h"

namespace memstrata {

/// An answer that is one JSON object: `write` adds its fields.
template <class Write>
Answer JsonAnswer(Write&& write) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  write(json);
  json.EndObject();
  return {Answer::Type::kJson, json.Finish()};
}

/// kNone and kUnknownBytes are null.
std::optional<uint32_t> KnownRow(uint32_t value);
std::optional<uint64_t> KnownBytes(uint64_t value);
/// "large", "small", "private 1.0": the pool of a block or segment; "default" where no more is known.
std::string PoolText(const Store& store, uint32_t pool, SegmentKind kind);

/// The array of frames of a stack, innermost first, each with whether it is of use to people.
void WriteStack(JsonWriter& json, SessionIndex& session, StackId stack);
/// The field "groups".
void WriteGroups(JsonWriter& json, const Grouping& grouping);
/// Requested bytes of blocks that the program gave back and that are not free yet, those included that the very next
/// event frees.
uint64_t PendingBytesAt(HeapEntry& entry, Moment at);
/// Fields of the moment at `seq`: bytes by measure, time and the event itself.
void WriteCursor(JsonWriter& json, SessionIndex& session, HeapEntry& heap, uint32_t seq);

/// Kind, address, size, allocation and stream of an event row.
void WriteEventFields(JsonWriter& json, const Store& store, uint32_t row);

/// Where an event lies in the program.
struct Place {
  std::optional<uint32_t> step;
  std::optional<std::string_view> phase;
};
/// Nothing for kNone and where no step or phase was found.
Place PlaceOf(SessionIndex& session, HeapEntry& heap, uint32_t seq);
/// "step 2 forward": what an allocation's beginning lies in; empty where not known.
std::string PlaceText(SessionIndex& session, HeapEntry& heap, uint32_t seq);

/// Which groups the comma-separated ids of the parameter `hide` leave out. errors: kInvalidArgument
Result<std::vector<bool>> HiddenGroups(const Parameters& parameters, size_t group_count);

/// Names of a stack: of a block that has none, why.
std::string RowLabel(SessionIndex& session, uint32_t row);

}  // namespace memstrata
