#include "report/json/summary_json.h"

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"
#include "report/json/profile_json.h"
#include "report/json/program_json.h"

namespace memstrata {
namespace {

void WritePoint(JsonWriter& json, std::string_view key, const std::optional<CurvePoint>& point, bool approximate) {
  json.Key(key);
  if (!point) return json.Null();
  json.StartObject();
  json.Field("bytes", point->bytes);
  json.Field("seq", point->seq);
  json.Field("time_ns", point->time_ns);
  if (approximate) json.Field("approximate", true);
  json.EndObject();
}

void WritePeak(JsonWriter& json, const HeapSummary& summary) {
  json.Key("peak");
  json.StartObject();
  WritePoint(json, "live", summary.live_peak, false);
  // The block sizes of a moment are all recorded only when that moment is the end.
  WritePoint(json, "block", summary.block_peak, summary.event_count > 0);
  WritePoint(json, "reserved", summary.reserved_peak, false);
  if (summary.profile) WriteProfilePeak(json, *summary.profile);
  json.Field("is_lower_bound", summary.is_lower_bound);
  json.Key("lower_bound_reason");
  if (summary.is_lower_bound) {
    json.Value(std::string_view(summary.lower_bound_reason));
  } else {
    json.Null();
  }
  json.EndObject();
}

void WriteEnd(JsonWriter& json, const HeapSummary& summary) {
  json.Key("end");
  json.StartObject();
  json.Field("live_bytes", summary.end_live_bytes);
  json.Field("block_bytes", summary.end_block_bytes);
  json.Field("pending_bytes", summary.end_pending_bytes);
  json.Field("reserved_bytes", summary.end_reserved_bytes);
  json.EndObject();
}

void WriteFragmentation(JsonWriter& json, const std::optional<IdleBytes>& idle) {
  json.Key("fragmentation");
  if (!idle) return json.Null();
  json.StartObject();
  json.Field("at", "end");
  json.Field("idle_bytes", idle->idle_bytes);
  json.Field("largest_idle_bytes", idle->largest_idle_bytes);
  json.Field("rounding_bytes", idle->rounding_bytes);
  json.Field("fraction", idle->Fraction());
  json.Key("by_kind");
  json.StartObject();
  json.Field("private_pool_bytes", idle->private_pool_bytes);
  json.Field("whole_segment_bytes", idle->whole_segment_bytes);
  json.Field("stream_bytes", idle->stream_bytes);
  json.Field("split_bytes", idle->split_bytes);
  json.EndObject();
  json.EndObject();
}

void WriteOutside(JsonWriter& json, const std::optional<OutsideMemory>& outside) {
  json.Key("outside");
  if (!outside) {
    json.Null();
    return;
  }
  const DeviceSample& sample = outside->sample;
  json.StartObject();
  json.Field("bytes", outside->bytes);
  json.Field("highest_bytes", outside->highest_bytes);
  json.Field("at", kSampleReasonNames[static_cast<size_t>(sample.reason)]);
  json.Field("step", sample.step == kNone ? std::nullopt : std::optional<uint32_t>(sample.step));
  json.Field("time_ns", sample.time_ns);
  json.Field("device_used_bytes", sample.total_bytes - sample.free_bytes);
  json.Field("reserved_bytes", sample.reserved_bytes);
  json.EndObject();
}

void WriteHolder(JsonWriter& json, const Store& store, const Holder& holder, uint64_t total_bytes) {
  json.StartObject();
  json.Field("bytes", holder.bytes);
  json.Field("block_count", holder.block_count);
  json.Field("share", total_bytes == 0 ? 0.0 : static_cast<double>(holder.bytes) / static_cast<double>(total_bytes));
  json.Field("category",
             holder.is_other ? std::string_view("other") : kCategoryNames[static_cast<size_t>(holder.category)]);
  if (!holder.name.empty()) json.Field("name", std::string_view(holder.name));
  json.Field("allocated_before_recording", holder.is_preexisting);
  json.Key("stack");
  WriteFrames(json, store, FramesOf(store, holder.stack));
  json.EndObject();
}

void WriteOutOfMemory(JsonWriter& json, const HeapSummary& summary) {
  json.Key("ooms");
  json.StartArray();
  for (const OutOfMemoryEvent& event : summary.out_of_memory) {
    json.StartObject();
    json.Field("seq", event.seq);
    json.Field("time_ns", event.time_ns);
    json.Field("requested_bytes", event.requested_bytes);
    json.Field("device_free_bytes", event.device_free_bytes);
    json.Field("live_bytes", event.live_bytes);
    json.EndObject();
  }
  json.EndArray();
}

void WriteHeap(JsonWriter& json, const Store& store, const HeapSummary& summary, size_t top_count) {
  const Heap& heap = *summary.heap;
  json.StartObject();
  json.Field("id", std::string_view(heap.id));
  json.Field("allocator", std::string_view(heap.allocator));
  json.Field("kind", kHeapKindNames[static_cast<size_t>(heap.kind)]);
  json.Field("host", heap.host.empty() ? std::nullopt : std::optional<std::string_view>(heap.host));
  json.Field("time_base", kTimeBaseNames[static_cast<size_t>(heap.time_base)]);
  json.Field("capacity_bytes",
             heap.capacity_bytes == kUnknownBytes ? std::nullopt : std::optional<uint64_t>(heap.capacity_bytes));
  json.Field("event_count", summary.event_count);
  json.Field("allocation_count", summary.allocation_count);
  json.Field("free_count", summary.free_count);
  json.Field("allocated_bytes_total", summary.allocated_bytes_total);
  json.Field("freed_bytes_total", summary.freed_bytes_total);
  json.Field("oom_count", uint64_t{summary.out_of_memory.size()});
  json.Key("preexisting");
  json.StartObject();
  json.Field("block_count", summary.preexisting_block_count);
  json.Field("bytes", summary.preexisting_bytes);
  json.EndObject();
  WritePeak(json, summary);
  if (summary.profile) {
    WriteProfileFigures(json, *summary.profile);
    WriteProgramUses(json, *summary.profile, top_count);
    WriteProfileHelp(json, store, heap, *summary.profile);
  }
  WriteEnd(json, summary);
  WriteFragmentation(json, summary.idle);
  WriteOutside(json, summary.outside);
  json.Key("holders_at");
  json.StartObject();
  json.Field("seq",
             summary.holders_at.seq() == kNone ? std::nullopt : std::optional<uint32_t>(summary.holders_at.seq()));
  json.Field("live_bytes", summary.holders_bytes);
  json.EndObject();
  json.Field("category_basis", kCategoryBasisNames[static_cast<size_t>(summary.category_basis)]);
  json.Key("holders");
  json.StartArray();
  if (summary.profile) WriteProfileHolders(json, summary.profile->holders, summary.holders_bytes);
  for (const Holder& holder : summary.holders) WriteHolder(json, store, holder, summary.holders_bytes);
  json.EndArray();
  WriteOutOfMemory(json, summary);
  json.EndObject();
}

}  // namespace

Status WriteSummaryJson(const SummaryAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.summary/1");
  WriteSources(json, *answer.store);
  json.Key("heaps");
  json.StartArray();
  for (const HeapSummary& summary : answer.heaps) WriteHeap(json, *answer.store, summary, answer.options.top_count);
  json.EndArray();
  if (!answer.store->programs.empty()) WritePrograms(json, *answer.store, answer.options.top_count);
  WriteHosts(json, answer.hosts);
  WriteMissing(json, *answer.store);
  WriteDiagnostics(json, *answer.store);
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
