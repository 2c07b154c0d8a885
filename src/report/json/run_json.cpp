#include "report/json/run_json.h"

#include "measure/gaps.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

using measure::AllocatorPeak;
using measure::CommandRun;
using measure::DeviceFacts;
using measure::DevicePeak;
using measure::MeasuredPeak;
using measure::MeasuredSession;

void WritePeak(JsonWriter& json, std::string_view key, const MeasuredPeak& peak) {
  json.Key(key);
  json.StartObject();
  json.Field("bytes", peak.bytes);
  json.Field("time_ns", peak.time_ns);
  json.Field("is_lower_bound", peak.is_lower_bound);
  json.Field("basis", std::string_view(peak.basis));
  json.EndObject();
}

void WriteCommand(JsonWriter& json, const CommandRun& run) {
  json.StartObject();
  json.Texts("command", run.command);
  json.Field("exit_status", run.ended ? std::optional<int32_t>(run.exit_status) : std::nullopt);
  json.Field("timed_out", run.timed_out);
  json.Field("is_beside", run.is_beside);
  json.Field("wall_ns", run.ended ? std::optional<int64_t>(run.wall_ns) : std::nullopt);
  json.Field("cpu_ns", run.cpu_ns);
  json.Field("read_bytes", run.read_bytes);
  json.Field("written_bytes", run.written_bytes);
  json.EndObject();
}

void WriteDevice(JsonWriter& json, const DeviceFacts& facts, const DevicePeak& peak) {
  json.StartObject();
  json.Field("index", peak.device);
  json.Field("vendor", std::string_view(facts.vendor));
  json.TextOrNull("name", facts.name);
  json.TextOrNull("uuid", facts.uuid);
  json.TextOrNull("driver", facts.driver_version);
  json.Field("total_bytes", facts.total_bytes);
  json.Field("reserved_bytes", facts.reserved_bytes);
  json.Field("is_partition", facts.is_partition);
  json.Field("is_unified", facts.is_unified);
  json.Field("is_host_node", facts.is_host_node);
  WritePeak(json, "used_peak", peak.used);
  json.Field("begin_bytes", peak.begin_bytes);
  if (peak.own) {
    WritePeak(json, "own_peak", *peak.own);
  } else {
    json.NullField("own_peak");
  }
  json.Field("used_by_others", peak.used_by_others);
  json.Key("other_users");
  json.StartArray();
  for (const int32_t process_id : peak.other_users) json.Value(process_id);
  json.EndArray();
  json.EndObject();
}

void WriteAllocator(JsonWriter& json, const AllocatorPeak& peak) {
  json.StartObject();
  json.Field("process", std::string_view(peak.process));
  json.Field("device", peak.device);
  json.Field("device_index", peak.device_index);
  WritePeak(json, "allocated_peak", peak.allocated);
  WritePeak(json, "reserved_peak", peak.reserved);
  json.Field("retry_count", peak.retry_count);
  json.Field("oom_count", peak.oom_count);
  json.EndObject();
}

void WriteProcesses(JsonWriter& json, const MeasuredSession& session) {
  json.Key("processes");
  json.StartArray();
  for (const measure::FrameworkProcess& process : session.processes) {
    json.StartObject();
    json.Field("label", std::string_view(process.label));
    json.Field("process_id", process.process_id);
    json.Field("rank", process.rank);
    json.TextOrNull("framework", process.framework);
    json.Field("complete", process.complete);
    json.EndObject();
  }
  json.EndArray();
}

void WriteHow(JsonWriter& json, const MeasuredSession& session) {
  json.Key("signals");
  json.StartArray();
  for (const int32_t signal : session.signals) json.Value(signal);
  json.EndArray();
  json.Key("environment");
  json.StartObject();
  for (const auto& [name, value] : session.variables) json.Field(name, std::string_view(value));
  json.EndObject();
}

}  // namespace

void WriteGaps(JsonWriter& json, const std::vector<measure::Gap>& gaps) {
  json.Key("missing");
  json.StartArray();
  for (const measure::Gap& gap : gaps) WriteMissingItem(json, gap.what, gap.why, gap.how_to_get);
  json.EndArray();
}

void WriteHostDetail(JsonWriter& json, const MeasuredSession& session, const measure::HostDetail& detail) {
  json.Field("swapped_bytes", detail.swapped_bytes);
  json.Field("locked_bytes", detail.locked_bytes);
  json.Field("pinned_bytes", detail.pinned_bytes);
  json.Field("group_bytes", detail.group_bytes);
  json.Field("group_limit_bytes", session.group_limit_bytes);
}

std::string RunJson(const MeasuredSession& session, const measure::RunPeaks& peaks) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.run/1");
  json.Field("session", std::string_view(session.folder));
  json.Key("commands");
  json.StartArray();
  for (const CommandRun& run : session.commands) WriteCommand(json, run);
  json.EndArray();
  json.Field("complete", session.ended);
  WriteHow(json, session);
  json.Field("wall_ns", peaks.wall_ns);
  if (peaks.host) {
    WritePeak(json, "host_peak", *peaks.host);
  } else {
    json.NullField("host_peak");
  }
  json.Key("host_detail");
  json.StartObject();
  WriteHostDetail(json, session, peaks.host_detail);
  json.EndObject();
  json.Key("devices");
  json.StartArray();
  for (const DevicePeak& peak : peaks.devices) WriteDevice(json, session.devices[peak.device], peak);
  json.EndArray();
  json.Key("allocators");
  json.StartArray();
  for (const AllocatorPeak& peak : peaks.allocators) WriteAllocator(json, peak);
  json.EndArray();
  WriteProcesses(json, session);
  json.Field("sample_count", uint64_t{session.host_samples.size()});
  json.Field("missed_sample_count", session.missed_samples);
  json.Field("sampler_cpu_ns", session.sampler_cpu_ns);
  json.Field("clock_drift_ns", session.clock_drift_ns);
  WriteGaps(json, measure::FindGaps(session));
  json.EmptyArray("diagnostics");
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
