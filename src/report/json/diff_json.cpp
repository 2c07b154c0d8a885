#include "report/json/diff_json.h"

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

void WriteRow(JsonWriter& json, const DiffAnswer& answer, const DiffRow& row) {
  const Store& store = row.is_in_after ? *answer.after : *answer.before;
  json.StartObject();
  json.Key("stack");
  WriteFrames(json, store, FramesOf(store, row.stack));
  json.Field("category", kCategoryNames[static_cast<size_t>(row.category)]);
  json.Field("before_bytes", row.before_bytes);
  json.Field("after_bytes", row.after_bytes);
  json.Field("delta_bytes", row.DeltaBytes());
  json.EndObject();
}

void WriteIds(JsonWriter& json, std::string_view key, const std::vector<std::string>& ids) {
  json.Key(key);
  json.StartArray();
  for (const std::string& id : ids) json.Value(std::string_view(id));
  json.EndArray();
}

}  // namespace

Status WriteDiffJson(const DiffAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.diff/1");
  json.Key("heaps");
  json.StartArray();
  for (const HeapDiffAnswer& heap : answer.heaps) {
    json.StartObject();
    json.Field("id", std::string_view(heap.id));
    json.Field("peak_live_delta_bytes",
               static_cast<int64_t>(heap.diff.after_peak_bytes) - static_cast<int64_t>(heap.diff.before_peak_bytes));
    json.Field("before_peak_bytes", heap.diff.before_peak_bytes);
    json.Field("after_peak_bytes", heap.diff.after_peak_bytes);
    json.Key("rows");
    json.StartArray();
    for (const DiffRow& row : heap.diff.rows) WriteRow(json, answer, row);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  WriteIds(json, "only_before", answer.only_before);
  WriteIds(json, "only_after", answer.only_after);
  WriteMissing(json, *answer.after);
  WriteDiagnostics(json, *answer.after);
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
