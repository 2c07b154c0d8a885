#include "query/answer_parts.h"

#include <fmt/format.h>

#include <charconv>

#include "base/units.h"

namespace memstrata {

std::optional<uint32_t> KnownRow(uint32_t value) { return value == kNone ? std::nullopt : std::optional(value); }
std::optional<uint64_t> KnownBytes(uint64_t value) {
  return value == kUnknownBytes ? std::nullopt : std::optional(value);
}

std::string PoolText(const Store& store, uint32_t pool, SegmentKind kind) {
  if (pool != kNone && store.pools[pool].is_private())
    return fmt::format("private {}.{}", store.pools[pool].first, store.pools[pool].second);
  if (kind == SegmentKind::kUnknown) return "default";
  return std::string(kSegmentKindNames[static_cast<size_t>(kind)]);
}

void WriteStack(JsonWriter& json, SessionIndex& session, StackId stack) {
  constexpr std::string_view kKinds[] = {"unknown", "python", "native", "compiled"};
  const Store& store = session.store();
  const FrameTable& frames = store.stacks.frames();
  json.StartArray();
  for (const FrameId frame : FramesOf(store, stack)) {
    json.StartObject();
    json.Field("function", store.String(frames.function[frame.value]));
    json.Field("file", store.String(frames.file[frame.value]));
    json.Field("line", frames.line[frame.value]);
    json.Field("kind", kKinds[static_cast<size_t>(frames.kind[frame.value])]);
    json.Field("useful", !session.Useful().IsPlumbing(frame));
    json.EndObject();
  }
  json.EndArray();
}

void WriteGroups(JsonWriter& json, const Grouping& grouping) {
  json.Key("groups");
  json.StartArray();
  for (size_t id = 0; id < grouping.groups.size(); ++id) {
    json.StartObject();
    json.Field("id", uint64_t{id});
    json.Field("key", std::string_view(grouping.groups[id].key));
    json.Field("label", std::string_view(grouping.groups[id].label));
    json.Field("bytes_at_peak", grouping.groups[id].bytes_at_peak);
    json.EndObject();
  }
  json.EndArray();
}

void WriteEventFields(JsonWriter& json, const Store& store, uint32_t row) {
  const EventTable& events = store.events;
  const EventKind kind = events.kind[row];
  json.Field("kind", kEventKindNames[static_cast<size_t>(kind)]);
  json.Key("address");
  if (kind <= EventKind::kSegmentUnmap) {
    json.Value(std::string_view(FormatAddress(events.addr[row])));
  } else {
    json.Null();
  }
  json.Field("size_bytes", events.size_bytes[row]);
  json.Field("allocation", KnownRow(events.allocation[row]));
  json.Field("stream", events.stream[row]);
}

uint64_t PendingBytesAt(HeapEntry& entry, Moment at) {
  const Store& store = entry.store;
  const Heap& heap = entry.heap;
  const IndexedCurve* const waiting = entry.heap_index.Pending();
  const uint64_t waiting_bytes = waiting == nullptr ? 0 : waiting->curve.At(at);
  if (at.event_count == 0) return waiting_bytes;
  const uint32_t event = store.EventRow(heap, at.seq());
  const uint32_t row = store.events.allocation[event];
  const bool freed_next = store.events.kind[event] == EventKind::kFreeRequested && row != kNone &&
                          store.allocations.free_requested_seq[row] == at.seq() &&
                          store.allocations.free_seq[row] == at.seq() + 1;
  return waiting_bytes + (freed_next ? store.allocations.size_bytes[row] : 0);
}

namespace {

// What an XLA profile says of an event.
void WriteProfileEvent(JsonWriter& json, const Store& store, const Heap& heap, uint32_t row) {
  const XPlaneEventTable& details = store.xplane.events;
  const auto text = [&](StringId id) {
    const std::string_view value = store.String(id);
    return value.empty() ? std::nullopt : std::optional(value);
  };
  json.StartObject();
  json.Field("memory_id", store.String(store.xplane.memory_ids[static_cast<size_t>(&heap - store.heaps.data())]));
  json.Field("time_ps", details.time_ps[row]);
  json.Field("thread", text(store.xplane.lines[details.line[row]].name));
  json.Field("stack_bytes", details.stack_bytes[row]);
  json.Field("heap_bytes", details.heap_bytes[row]);
  json.Field("free_bytes", KnownBytes(details.free_bytes[row]));
  json.Field("fragmentation", details.nan[row] != 0 ? std::nullopt : std::optional(details.fragmentation[row]));
  json.Field("lifetime_peak_bytes", details.peak_bytes[row]);
  json.Field("requested_bytes", details.requested_bytes[row]);
  json.Field("allocation_bytes", store.events.size_bytes[row]);
  // A free says little of its block; the allocation that made it does.
  const uint32_t block = store.events.allocation[row];
  const bool has_maker = block != kNone && store.allocations.alloc_seq[block] != kNone;
  const uint32_t label_row = has_maker ? store.EventRow(heap, store.allocations.alloc_seq[block]) : row;
  json.Field("op", text(details.op[label_row]));
  json.Field("region_type", text(details.region[label_row]));
  json.Field("data_type", text(details.data_type[label_row]));
  json.Field("shape", text(details.shape[label_row]));
  json.Field("step_id", details.step[row] == kNoStep ? std::nullopt : std::optional(details.step[row]));
  json.EndObject();
}

}  // namespace

void WriteCursor(JsonWriter& json, SessionIndex& session, HeapEntry& entry, uint32_t seq) {
  const Store& store = session.store();
  const Heap& heap = entry.heap;
  HeapIndex& index = entry.heap_index;
  const Moment at = index.MomentAt(seq);
  json.Field("heap", entry.index);
  json.Field("seq", seq);
  json.Field("offset_ns", index.Time().OffsetAt(seq));
  json.Field("live_bytes", index.Live().curve.At(at));
  std::optional<uint64_t> block_bytes;
  std::optional<uint64_t> reserved_bytes;
  std::optional<uint64_t> idle_bytes;
  if (heap.capabilities.has_block_bytes) block_bytes = index.Block().curve.At(at);
  if (heap.capabilities.has_segments) reserved_bytes = index.Reserved().curve.At(at);
  if (block_bytes && reserved_bytes) idle_bytes = *reserved_bytes - std::min(*reserved_bytes, *block_bytes);
  json.Field("block_bytes", block_bytes);
  json.Field("pending_bytes", PendingBytesAt(entry, at));
  json.Field("reserved_bytes", reserved_bytes);
  json.Field("idle_bytes", idle_bytes);
  const Place place = PlaceOf(session, entry, heap.events.size() == 0 ? kNone : seq);
  json.Field("step", place.step);
  json.Field("phase", place.phase);
  json.Key("profile");
  if (store.HasXPlaneDetails(heap)) {
    WriteProfileEvent(json, store, heap, store.EventRow(heap, seq));
  } else {
    json.Null();
  }
  json.Key("event");
  if (heap.events.size() == 0) {
    json.Null();
  } else {
    json.StartObject();
    WriteEventFields(json, store, store.EventRow(heap, seq));
    json.EndObject();
  }
}

Place PlaceOf(SessionIndex& session, HeapEntry& heap, uint32_t seq) {
  const Timeline& timeline = session.TimelineOf(heap);
  Place place;
  if (seq >= timeline.phase_of_event.size()) return place;
  if (timeline.step_of_event[seq] != kNone) place.step = timeline.step_of_event[seq];
  const Phase phase = timeline.phase_of_event[seq];
  if (phase != Phase::kOther) place.phase = kPhaseNames[static_cast<size_t>(phase)];
  return place;
}

std::string PlaceText(SessionIndex& session, HeapEntry& heap, uint32_t seq) {
  const Place place = PlaceOf(session, heap, seq);
  const std::string step = place.step ? fmt::format("step {}", *place.step) : "";
  const std::string_view phase = place.phase.value_or("");
  return fmt::format("{}{}{}", step, step.empty() || phase.empty() ? "" : " ", phase);
}

Result<std::vector<bool>> HiddenGroups(const Parameters& parameters, size_t group_count) {
  std::vector<bool> hidden(group_count, false);
  std::string_view text = parameters.Text("hide");
  while (!text.empty()) {
    const std::string_view id = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), id.size() + 1));
    size_t group = 0;
    const auto [end, problem] = std::from_chars(id.data(), id.data() + id.size(), group);
    if (problem != std::errc{} || end != id.data() + id.size() || group >= group_count) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("hide is a list of group numbers below {}.", group_count));
    }
    hidden[group] = true;
  }
  return hidden;
}

std::string RowLabel(SessionIndex& session, uint32_t row) {
  const AllocationTable& table = session.store().allocations;
  const bool preexisting = table.stack[row].value == 0 && (table.flags[row] & kPreexisting) != 0;
  return preexisting ? "before the recording" : StackLabel(session.store(), session.Useful(), table.stack[row]);
}

}  // namespace memstrata
