#include "report/json/gate_json.h"

#include <cmath>

#include "base/json_writer.h"

namespace memstrata {
namespace {

using accept::BlamedRow;
using accept::FigureCheck;
using accept::GateAnswer;
using accept::HeapBlame;

uint64_t WholeBytes(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

void WriteCheck(JsonWriter& json, const FigureCheck& check) {
  json.StartObject();
  json.Field("heap", std::string_view(check.heap));
  json.Field("figure", std::string_view(check.figure));
  json.Field("verdict", accept::VerdictName(check.verdict));
  json.Field("baseline_bytes", check.baseline_bytes);
  json.Key("mean_bytes");
  if (check.values_bytes.empty()) {
    json.Null();
  } else {
    json.Value(check.mean_bytes);
  }
  json.Field("limit_bytes", check.limit_bytes);
  json.Key("values_bytes");
  json.StartArray();
  for (const uint64_t value_bytes : check.values_bytes) json.Value(value_bytes);
  json.EndArray();
  json.Key("tolerance");
  json.StartObject();
  json.Field("basis", accept::kToleranceBasisNames[static_cast<size_t>(check.tolerance.basis)]);
  json.Field("bytes", WholeBytes(check.tolerance.allowed));
  json.Field("found_bytes", WholeBytes(check.tolerance.found));
  json.Field("how", std::string_view(check.tolerance.how));
  json.EndObject();
  json.Field("text", std::string_view(check.text));
  json.EndObject();
}

void WriteRow(JsonWriter& json, const BlamedRow& row) {
  json.StartObject();
  json.Field("category", std::string_view(row.category));
  json.Field("before_bytes", row.before_bytes);
  json.Field("after_bytes", row.after_bytes);
  json.Field("delta_bytes", row.DeltaBytes());
  json.Key("stack");
  json.StartArray();
  for (const accept::BlamedFrame& frame : row.stack) {
    json.StartObject();
    json.Field("function", std::string_view(frame.function));
    json.Field("file", std::string_view(frame.file));
    json.Field("line", frame.line);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteBlame(JsonWriter& json, const HeapBlame& blame) {
  json.StartObject();
  json.Field("heap", std::string_view(blame.heap));
  json.Texts("sentences", blame.sentences);
  json.Key("rows");
  json.StartArray();
  for (const BlamedRow& row : blame.rows) WriteRow(json, row);
  json.EndArray();
  json.EndObject();
}

}  // namespace

Status WriteGateJson(const GateAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.gate/1");
  json.Field("verdict", accept::VerdictName(answer.verdict));
  json.Field("baseline", std::string_view(answer.baseline_file));
  json.Field("baseline_run_count", answer.baseline_run_count);
  json.Texts("runs", answer.runs);
  json.Key("checks");
  json.StartArray();
  for (const FigureCheck& check : answer.checks) WriteCheck(json, check);
  json.EndArray();
  json.Key("blame");
  json.StartArray();
  for (const HeapBlame& blame : answer.blames) WriteBlame(json, blame);
  json.EndArray();
  json.Texts("notes", answer.notes);
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
