#include "report/json/machine_json.h"

namespace memstrata {
namespace {

using measure::Machine;
using measure::MachineDevice;

void WriteUsers(JsonWriter& json, const MachineDevice& device) {
  json.Key("users");
  if (!device.reading || !device.reading->processes) return json.Null();
  json.StartArray();
  for (const measure::ProcessUse& use : *device.reading->processes) {
    json.StartObject();
    json.Field("process_id", use.process_id);
    json.Field("used_bytes", use.used_bytes);
    json.EndObject();
  }
  json.EndArray();
}

void WriteDevice(JsonWriter& json, const MachineDevice& device) {
  json.StartObject();
  json.Field("vendor", std::string_view(device.facts.vendor));
  json.TextOrNull("name", device.facts.name);
  json.TextOrNull("uuid", device.facts.uuid);
  json.TextOrNull("pci_bus_id", device.facts.pci_bus_id);
  json.TextOrNull("driver", device.facts.driver_version);
  json.Field("total_bytes", device.facts.total_bytes);
  json.Field("reserved_bytes", device.facts.reserved_bytes);
  json.Field("used_bytes", device.reading ? std::optional(device.reading->used_bytes) : std::nullopt);
  json.Field("is_partition", device.facts.is_partition);
  json.Field("is_unified", device.facts.is_unified);
  json.Field("is_host_node", device.facts.is_host_node);
  WriteUsers(json, device);
  json.EndObject();
}

void WriteHost(JsonWriter& json, const Machine& machine) {
  json.Key("host");
  json.StartObject();
  json.Field("total_bytes", machine.memory.total_bytes);
  json.Field("available_bytes", machine.memory.available_bytes);
  json.Field("swap_total_bytes", machine.memory.swap_total_bytes);
  json.Field("swap_free_bytes", machine.memory.swap_free_bytes);
  json.Field("group_used_bytes", machine.group_used_bytes);
  json.Field("group_limit_bytes", machine.group_limit_bytes);
  json.EndObject();
}

void WritePairs(JsonWriter& json, std::string_view key, std::string_view first, std::string_view second,
                const std::vector<std::pair<std::string, std::string>>& pairs) {
  json.Key(key);
  json.StartArray();
  for (const auto& [one, other] : pairs) {
    json.StartObject();
    json.Field(first, std::string_view(one));
    json.Field(second, std::string_view(other));
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteMachine(JsonWriter& json, const Machine& machine) {
  json.Key("devices");
  json.StartArray();
  for (const MachineDevice& device : machine.devices) WriteDevice(json, device);
  json.EndArray();
  json.Key("links");
  json.StartArray();
  for (const measure::DeviceLink& link : machine.links) {
    json.StartObject();
    json.Field("first", link.first);
    json.Field("second", link.second);
    json.Field("by", std::string_view(link.words));
    json.EndObject();
  }
  json.EndArray();
  WritePairs(json, "vendors_without_devices", "vendor", "why", machine.vendor_problems);
  WriteHost(json, machine);
  WritePairs(json, "frameworks", "name", "version", machine.frameworks);
  WritePairs(json, "framework_problems", "name", "text", machine.framework_problems);
  json.Key("seen_by_frameworks");
  json.StartArray();
  for (const measure::SeenDevice& seen : machine.seen) {
    json.StartObject();
    json.Field("framework", std::string_view(seen.framework));
    json.Field("device", seen.device);
    json.TextOrNull("uuid", seen.uuid);
    json.TextOrNull("name", seen.name);
    json.Field("total_bytes", seen.total_bytes);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace memstrata
