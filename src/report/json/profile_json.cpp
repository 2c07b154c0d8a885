#include "report/json/profile_json.h"

#include <algorithm>

namespace memstrata {
namespace {

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
  json.Texts("notes", profile.notes);
  json.Texts("xprof_differences", profile.xprof_differences);
}

void WriteProfileHelp(JsonWriter& json, const Store& store, const Heap& heap, const ProfileSummary& profile) {
  const ProfileHelp& help = profile.help;
  const HeapPressure& pressure = help.pressure;
  json.Key("help");
  json.StartObject();
  json.Field("near_capacity", help.is_near_capacity);
  json.Key("largest_blocks");
  json.StartArray();
  for (const uint32_t block : pressure.largest) {
    const uint32_t row = store.EventRow(heap, store.allocations.alloc_seq[block]);
    json.StartObject();
    json.Field("bytes", store.allocations.size_bytes[block]);
    json.Field("alloc_seq", store.allocations.alloc_seq[block]);
    WriteText(json, "op", KnownText(store.String(store.xplane.events.op[row])));
    WriteText(json, "shape", KnownText(store.String(store.xplane.events.shape[row])));
    json.EndObject();
  }
  json.EndArray();
  json.Field("rounding_bytes", pressure.rounding_bytes);
  json.Field("temporary_bytes", pressure.temporary_bytes);
  json.Field("temporary_count", pressure.temporary_count);
  json.Field("largest_hole_bytes", pressure.largest_hole_bytes);
  json.Field("unplaced_bytes", pressure.unplaced_bytes);
  const bool has_plan = !help.program.empty();
  const auto planned = [&](uint64_t bytes) { return has_plan ? std::optional(bytes) : std::nullopt; };
  json.Field("program", has_plan ? std::optional(help.program) : std::nullopt);
  json.Field("program_temporary_bytes", planned(help.program_temporary_bytes));
  json.Field("program_padding_bytes", planned(help.program_padding_bytes));
  json.Field("program_donation_bytes", planned(help.program_donation_bytes));
  json.Texts("sentences", help.sentences);
  json.EndObject();
}

void WriteProgramUses(JsonWriter& json, const ProfileSummary& profile, size_t top_count) {
  json.Field("program_count", uint64_t{profile.programs.size()});
  json.Key("programs");
  json.StartArray();
  for (size_t i = 0; i < std::min(top_count, profile.programs.size()); ++i) {
    json.StartObject();
    json.Field("run_count", profile.programs[i].run_count);
    WriteRunFields(json, profile.programs[i].highest);
    json.EndObject();
  }
  json.EndArray();
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
