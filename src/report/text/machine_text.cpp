#include "report/text/machine_text.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata {
namespace {

using measure::Machine;
using measure::MachineDevice;

std::string OrUnknown(const std::optional<uint64_t>& bytes) { return bytes ? FormatBytes(*bytes) : "unknown"; }

std::string DeviceText(size_t index, const MachineDevice& device) {
  std::string out =
      fmt::format("  {}  {}{}\n", index, device.facts.name.empty() ? device.facts.vendor : device.facts.name,
                  device.facts.is_partition ? " (an instance of a partitioned card)" : "");
  const auto line = [&out](std::string_view label, const std::string& text) {
    out += fmt::format("     {:<18}{}\n", label, text);
  };
  if (!device.facts.driver_version.empty()) line("driver", device.facts.driver_version);
  line("memory", OrUnknown(device.facts.total_bytes));
  line("kept by driver", OrUnknown(device.facts.reserved_bytes));
  if (device.facts.is_host_node) line("NUMA node", "yes: the host's totals contain this memory");
  if (device.facts.is_unified && device.reading)
    line("shared", "on the chip of a CPU: beyond what firmware set aside it uses the host's memory");
  if (!device.reading) {
    line("used", device.facts.is_unified ? "not counted: its memory is the host's" : "the device does not answer");
    return out;
  }
  line("used", FormatBytes(device.reading->used_bytes));
  if (!device.reading->processes) {
    line("users", "the vendor does not say");
    return out;
  }
  if (device.reading->processes->empty()) line("users", "none");
  for (const measure::ProcessUse& use : *device.reading->processes)
    line("user", fmt::format("process {}, {}", use.process_id, OrUnknown(use.used_bytes)));
  return out;
}

std::string CaptureText(const Machine& machine) {
  std::string out = "\nWhat a recording here would see\n";
  const auto line = [&out](std::string_view text) { out += fmt::format("  - {}\n", text); };
  line("host: resident, swapped, locked and pinned memory of each process of the run");
  line(machine.memory_group_version == 0
           ? "host: no control group with a memory controller, so no figure of the container"
           : fmt::format("host: the control group (version {})", machine.memory_group_version));
  if (machine.devices.empty()) line("devices: none; only the host is sampled");
  for (const MachineDevice& device : machine.devices) {
    const bool names_users = device.reading && device.reading->processes;
    line(fmt::format("{}: {}", device.facts.name.empty() ? device.facts.vendor : device.facts.name,
                     !device.reading ? "nothing of the device"
                     : names_users   ? "used memory, and each process's part of it"
                                     : "used memory, without who uses it"));
  }
  return out;
}

}  // namespace

std::string MachineText(const Machine& machine) {
  std::string out = "\nDevices\n";
  for (size_t i = 0; i < machine.devices.size(); ++i) out += DeviceText(i, machine.devices[i]);
  for (const auto& [vendor, why] : machine.vendor_problems) out += fmt::format("  {}: {}\n", vendor, why);
  for (const measure::DeviceLink& link : machine.links)
    out += fmt::format("  {} and {}: {}\n", link.first, link.second, link.words);
  out += fmt::format("\nHost\n  {:<18}{} of {} available\n", "memory", OrUnknown(machine.memory.available_bytes),
                     OrUnknown(machine.memory.total_bytes));
  if (machine.group_used_bytes)
    out += fmt::format("  {:<18}{} used, limit {}\n", "control group", FormatBytes(*machine.group_used_bytes),
                       machine.group_limit_bytes ? FormatBytes(*machine.group_limit_bytes) : "none");
  if (!machine.frameworks.empty() || !machine.framework_problems.empty()) out += "\nFrameworks\n";
  for (const auto& [name, version] : machine.frameworks) out += fmt::format("  {:<18}{}\n", name, version);
  for (const measure::SeenDevice& seen : machine.seen)
    out += fmt::format("  {} sees device {}: {}, {}\n", seen.framework, seen.device, seen.name,
                       OrUnknown(seen.total_bytes));
  for (const auto& [name, text] : machine.framework_problems) out += fmt::format("  {} fails: {}\n", name, text);
  return out + CaptureText(machine);
}

}  // namespace memstrata
