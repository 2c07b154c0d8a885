#include "report/json/accept_json.h"

#include <cmath>

#include "base/json_writer.h"

namespace memstrata {
namespace {

using accept::Acceptance;
using accept::Measured;
using accept::RepeatFigures;

void WriteMap(JsonWriter& json, std::string_view key, const std::map<std::string, std::string>& values) {
  json.Key(key);
  json.StartObject();
  for (const auto& [name, value] : values) json.Field(name, std::string_view(value));
  json.EndObject();
}

// Counts and sizes are whole numbers.
void WriteNumber(JsonWriter& json, std::string_view key, std::optional<double> value, bool is_whole) {
  json.Key(key);
  if (value && is_whole) {
    json.Value(static_cast<int64_t>(std::llround(*value)));
  } else {
    json.Value(value);
  }
}

void WriteMeasured(JsonWriter& json, std::string_view key, const Measured& measured, bool is_whole) {
  json.Key(key);
  json.StartObject();
  WriteNumber(json, is_whole ? "bytes" : "value", measured.value, is_whole);
  json.Field("is_lower_bound", measured.is_lower_bound);
  json.Field("basis", std::string_view(measured.basis));
  json.EndObject();
}

void WriteChecks(JsonWriter& json, const std::vector<accept::Check>& checks) {
  json.Key("checks");
  json.StartArray();
  for (const accept::Check& check : checks) {
    const bool is_whole = check.unit == "bytes" || check.unit == "count";
    json.StartObject();
    json.Field("name", std::string_view(check.name));
    WriteNumber(json, "value", check.value, is_whole);
    WriteNumber(json, "limit", check.limit, is_whole);
    json.Field("unit", std::string_view(check.unit));
    json.Field("verdict", accept::VerdictName(check.verdict));
    json.Field("text", std::string_view(check.text));
    json.EndObject();
  }
  json.EndArray();
}

void WriteChecklist(JsonWriter& json, const std::vector<accept::ChecklistItem>& items) {
  json.Key("checklist");
  json.StartArray();
  for (const accept::ChecklistItem& item : items) {
    json.StartObject();
    json.Field("item", item.item);
    json.Field("done", item.is_done);
    json.Field("text", std::string_view(item.text));
    json.EndObject();
  }
  json.EndArray();
}

void WriteDevice(JsonWriter& json, const accept::DeviceFigures& device) {
  json.StartObject();
  json.Field("id", std::string_view(device.id));
  json.TextOrNull("driver", device.driver);
  json.TextOrNull("uuid", device.uuid);
  json.Field("capacity_bytes", device.capacity_bytes);
  WriteMeasured(json, "used", device.used_bytes, true);
  WriteMeasured(json, "framework", device.framework_bytes, true);
  json.Field("used_by_others", device.used_by_others);
  json.EndObject();
}

void WriteRun(JsonWriter& json, const RepeatFigures& run) {
  json.StartObject();
  json.Field("folder", std::string_view(run.folder));
  json.Key("devices");
  json.StartArray();
  for (const accept::DeviceFigures& device : run.devices) WriteDevice(json, device);
  json.EndArray();
  WriteMeasured(json, "host", run.host_bytes, true);
  WriteMeasured(json, "cpu_time_s", run.cpu_time_s, false);
  WriteMeasured(json, "storage_read", run.read_bytes, true);
  WriteMeasured(json, "storage_written", run.written_bytes, true);
  WriteMeasured(json, "run_time_s", run.run_time_s, false);
  WriteMeasured(json, "iteration_time_s", run.iteration_time_s, false);
  WriteMeasured(json, "growth", run.growth_bytes, true);
  WriteMeasured(json, "host_growth", run.host_growth_bytes, true);
  WriteMeasured(json, "allocator_retries", run.retry_count, false);
  WriteMeasured(json, "quality", run.quality, false);
  json.Field("error_count", run.error_count);
  json.Field("error", std::string_view(run.error_text));
  json.Field("interrupted", run.was_interrupted);
  json.Key("iterations_ns");
  json.StartArray();
  for (const accept::Iteration& iteration : run.iterations) {
    if (!iteration.is_warmup) json.Value(iteration.duration_ns);
  }
  json.EndArray();
  json.Texts("missing", run.gaps);
  json.EndObject();
}

void WriteIdentity(JsonWriter& json, const Acceptance& acceptance) {
  const accept::Identity& identity = acceptance.identity;
  json.Key("identity");
  json.StartObject();
  json.TextOrNull("memstrata", identity.program_version);
  json.TextOrNull("spec_xxh128", identity.spec_hash);
  WriteMap(json, "settings", identity.settings);
  json.Texts("command", identity.command);
  json.Field("system", std::string_view(identity.system));
  json.Texts("frameworks", identity.frameworks);
  json.Texts("devices", identity.devices);
  WriteMap(json, "parameters", acceptance.spec.parameters);
  WriteMap(json, "environment", acceptance.spec.environment);
  WriteMap(json, "inherited_environment", identity.inherited);
  json.Key("inputs");
  json.StartArray();
  for (const accept::InputFile& input : identity.inputs) {
    json.StartObject();
    json.Field("file", std::string_view(input.file));
    json.Field("size_bytes", input.size_bytes);
    json.Key("xxh128");
    if (input.size_bytes) {
      json.Value(std::string_view(input.hash));
    } else {
      json.Null();
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteSweep(JsonWriter& json, const std::vector<accept::SweepRow>& rows) {
  json.Key("sweep");
  json.StartArray();
  for (const accept::SweepRow& row : rows) {
    json.StartObject();
    WriteMap(json, "parameters", row.parameters);
    json.Field("verdict", accept::VerdictName(row.verdict));
    WriteNumber(json, "memory_bytes", row.memory_bytes, true);
    json.Field("memory_basis", std::string_view(row.memory_basis));
    json.Field("is_lower_bound", row.is_lower_bound);
    json.Field("latency_s", row.latency_s);
    json.Field("throughput_per_s", row.throughput_per_s);
    json.Field("quality", row.quality);
    json.Field("pareto", row.is_pareto);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string AcceptJson(const Acceptance& acceptance, const std::vector<accept::SweepRow>& rows) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.accept/1");
  json.Field("name", std::string_view(acceptance.spec.name));
  json.Field("verdict", accept::VerdictName(acceptance.verdict));
  WriteChecks(json, acceptance.checks);
  WriteChecklist(json, acceptance.checklist);
  json.Key("runs");
  json.StartArray();
  for (const RepeatFigures& run : acceptance.repeats) WriteRun(json, run);
  json.EndArray();
  WriteIdentity(json, acceptance);
  WriteSweep(json, rows);
  json.EmptyArray("diagnostics");
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
