#include "report/json/diff_json.h"

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

void WriteBytes(JsonWriter& json, std::string_view key, const std::vector<uint64_t>& sizes) {
  json.Key(key);
  json.StartArray();
  for (const uint64_t size_bytes : sizes) json.Value(size_bytes);
  json.EndArray();
}

void WriteRow(JsonWriter& json, const DiffAnswer& answer, const DiffRow& row) {
  const Store& store = *answer.recordings[row.recording];
  json.StartObject();
  json.Key("stack");
  WriteFrames(json, store, FramesOf(store, row.stack));
  json.Field("category", kCategoryNames[static_cast<size_t>(row.category)]);
  json.Field("before_bytes", row.BeforeBytes());
  json.Field("after_bytes", row.AfterBytes());
  json.Field("delta_bytes", row.DeltaBytes());
  WriteBytes(json, "bytes", row.bytes);
  json.EndObject();
}

void WriteSentences(JsonWriter& json, const std::vector<Regression>& sentences) {
  json.Key("sentences");
  json.StartArray();
  for (const Regression& sentence : sentences) {
    json.StartObject();
    json.Field("text", std::string_view(sentence.text));
    json.Field("bytes", sentence.bytes);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

Status WriteDiffJson(const DiffAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.diff/1");
  json.Key("files");
  json.StartArray();
  for (const Store* store : answer.recordings)
    json.Value(std::string_view(store->sources.empty() ? std::string() : store->sources.front().file));
  json.EndArray();
  json.Key("heaps");
  json.StartArray();
  for (const HeapDiffAnswer& heap : answer.heaps) {
    json.StartObject();
    json.Field("id", std::string_view(heap.id));
    json.Field("peak_live_delta_bytes", heap.diff.DeltaBytes());
    json.Field("before_peak_bytes", heap.diff.peak_bytes.front());
    json.Field("after_peak_bytes", heap.diff.peak_bytes.back());
    WriteBytes(json, "peak_bytes", heap.diff.peak_bytes);
    WriteSentences(json, heap.sentences);
    json.Key("rows");
    json.StartArray();
    for (const DiffRow& row : heap.diff.rows) WriteRow(json, answer, row);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Texts("only_before", answer.only_before);
  json.Texts("only_after", answer.only_after);
  WriteMissing(json, *answer.recordings.back());
  WriteDiagnostics(json, *answer.recordings.back());
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
