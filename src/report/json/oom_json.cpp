#include "report/json/oom_json.h"

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

constexpr std::string_view kHoleKindKeys[] = {"private_pool_bytes", "whole_segment_bytes", "stream_bytes",
                                              "split_bytes"};

void WriteRemedies(JsonWriter& json, const std::vector<OomRemedy>& remedies) {
  json.Key("remedies");
  json.StartArray();
  for (const OomRemedy& remedy : remedies) {
    json.StartObject();
    json.Field("text", std::string_view(remedy.text));
    json.Field("bytes", remedy.bytes);
    json.Field("basis", kRemedyBasisNames[static_cast<size_t>(remedy.basis)]);
    json.Field("would_fit", remedy.would_fit);
    json.EndObject();
  }
  json.EndArray();
}

void WriteDetails(JsonWriter& json, const OomReport& report) {
  json.Key("details");
  json.StartArray();
  for (const OomDetail& detail : report.details) {
    json.StartObject();
    json.Field("name", std::string_view(detail.name));
    json.Field("bytes", detail.bytes);
    json.Field("number", detail.number);
    json.EndObject();
  }
  json.EndArray();
}

void WriteReportFields(JsonWriter& json, const OomReport& report) {
  json.Field("kind", report.kind);
  json.Field("format", report.format);
  json.Field("requested_bytes", report.requested_bytes);
  json.Field("free_bytes", report.free_bytes);
  json.Field("capacity_bytes", report.capacity_bytes);
  json.Field("live_bytes", report.live_bytes);
  json.Field("idle_bytes", report.idle_bytes);
  json.Field("outside_bytes", report.outside_bytes);
  json.Field("neighbour_bytes", report.neighbour_bytes);
  json.Field("private_pool_bytes", report.private_pool_bytes);
  json.Field("cap_bytes", report.cap_bytes);
  json.Field("largest_hole_bytes", report.largest_hole_bytes);
  json.Field("short_by_bytes", report.short_by_bytes);
  json.Field("verdict", kOomVerdictNames[static_cast<size_t>(report.verdict)]);
  json.Field("text", std::string_view(report.text));
  WriteRemedies(json, report.remedies);
  WriteDetails(json, report);
}

void WriteMessage(JsonWriter& json, const OomReport& report) {
  json.StartObject();
  WriteReportFields(json, report);
  json.Key("where");
  if (report.where.empty()) {
    json.Null();
  } else {
    json.Value(std::string_view(report.where));
  }
  json.Field("line", report.line);
  json.Field("count", report.count);
  json.EndObject();
}

void WriteHolders(JsonWriter& json, const Store& store, const SnapshotOom& failure) {
  json.Key("holders");
  json.StartArray();
  for (const Holder& holder : failure.holders) {
    json.StartObject();
    json.Field("bytes", holder.bytes);
    json.Field("block_count", holder.block_count);
    json.Field("category", kCategoryNames[static_cast<size_t>(holder.category)]);
    json.Field("is_other", holder.is_other);
    json.Key("stack");
    WriteFrames(json, store, FramesOf(store, holder.stack));
    json.EndObject();
  }
  json.EndArray();
}

void WriteFailure(JsonWriter& json, const Store& store, const SnapshotOom& failure) {
  json.StartObject();
  WriteReportFields(json, failure.report);
  json.Field("heap", std::string_view(failure.heap->id));
  json.Field("seq", failure.seq);
  json.Field("reserved_bytes", failure.reserved_bytes);
  json.Key("idle_by_kind");
  json.StartObject();
  for (size_t kind = 0; kind < 4; ++kind) json.Field(kHoleKindKeys[kind], failure.idle_kind_bytes[kind]);
  json.EndObject();
  WriteHolders(json, store, failure);
  json.EndObject();
}

void WriteMissingOf(JsonWriter& json, const std::vector<OomReport>& messages) {
  json.Key("missing");
  json.StartArray();
  for (const OomReport& report : messages) {
    for (const OomMissing& missing : report.missing)
      WriteMissingItem(json, missing.what, missing.why, missing.how_to_get);
  }
  json.EndArray();
}

}  // namespace

Status WriteOomJson(const OomAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.oom/1");
  if (answer.store != nullptr) WriteSources(json, *answer.store);
  json.Key("reports");
  json.StartArray();
  for (const SnapshotOom& failure : answer.failures) WriteFailure(json, *answer.store, failure);
  for (const OomReport& report : answer.messages) WriteMessage(json, report);
  json.EndArray();
  json.Field("left_out_count", answer.left_out_count);
  if (answer.store != nullptr) {
    WriteMissing(json, *answer.store);
    WriteDiagnostics(json, *answer.store);
  } else {
    WriteMissingOf(json, answer.messages);
    json.EmptyArray("diagnostics");
  }
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
