#include "report/json/profile_json.h"

namespace memstrata {
namespace {

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key);
  json.StartArray();
  for (const std::string& text : texts) json.Value(std::string_view(text));
  json.EndArray();
}

void WriteText(JsonWriter& json, std::string_view key, const std::optional<std::string>& text) {
  json.Field(key, text ? std::optional<std::string_view>(*text) : std::nullopt);
}

}  // namespace

void WriteProfilePeak(JsonWriter& json, const ProfileSummary& profile) {
  json.Key("used");
  json.StartObject();
  json.Field("bytes", profile.used_bytes);
  json.Field("seq", profile.peak_seq);
  json.Field("time_ns", profile.peak_time_ns);
  json.Field("stack_bytes", profile.stack_bytes);
  json.Field("live_bytes", profile.heap_bytes);
  json.Field("free_bytes", profile.free_bytes);
  json.Field("fragmentation", profile.fragmentation);
  json.Field("step_id", profile.step);
  json.Field("tied_count", profile.tied_count);
  json.EndObject();
}

void WriteProfileFigures(JsonWriter& json, const ProfileSummary& profile) {
  json.Field("lifetime_peak_bytes", profile.lifetime_peak_bytes);
  json.Field("utilization", profile.utilization);
  json.Field("largest_request_now_bytes", profile.largest_request_bytes);
  WriteTexts(json, "notes", profile.notes);
  WriteTexts(json, "xprof_differences", profile.xprof_differences);
}

void WriteProfileHolders(JsonWriter& json, const ProfileSummary& profile, uint64_t total_bytes) {
  for (const ProfileHolder& holder : profile.holders) {
    json.StartObject();
    json.Field("bytes", holder.bytes);
    json.Field("block_count", holder.block_count);
    json.Field("share", total_bytes == 0 ? 0.0 : static_cast<double>(holder.bytes) / static_cast<double>(total_bytes));
    json.Field("category", holder.category);
    if (!holder.name.empty()) json.Field("name", std::string_view(holder.name));
    json.Field("allocated_before_recording", holder.is_before_recording);
    WriteText(json, "op", holder.op);
    json.Field("requested_bytes", holder.requested_bytes);
    WriteText(json, "region_type", holder.region_type);
    WriteText(json, "data_type", holder.data_type);
    WriteText(json, "shape", holder.shape);
    json.Key("stack");
    json.StartArray();
    json.EndArray();
    json.EndObject();
  }
}

void WriteHosts(JsonWriter& json, const std::vector<HostSummary>& hosts) {
  if (hosts.empty()) return;
  json.Key("hosts");
  json.StartArray();
  for (const HostSummary& host : hosts) {
    json.StartObject();
    json.Field("host", std::string_view(host.host));
    json.Field("heap_count", host.heap_count);
    json.Field("worst_heap", std::string_view(host.worst_heap));
    json.Field("peak_used_bytes", host.peak_used_bytes);
    json.Field("utilization", host.utilization);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace memstrata
