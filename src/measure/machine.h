#pragma once
// What this machine has, as a recording would see it: devices by their vendors, the host's memory and its limits, and
// what the frameworks of an interpreter make of the devices.

#include "measure/devices/vendor.h"
#include "measure/host_memory.h"

namespace memstrata::measure {

struct MachineDevice {
  DeviceFacts facts;
  std::optional<DeviceReading> reading;
};

struct DeviceLink {
  uint32_t first = 0;  // in Machine::devices
  uint32_t second = 0;
  std::string words;
};

/// What a framework says of a device.
struct SeenDevice {
  std::string framework;
  uint32_t device = 0;  // as it counts
  std::string uuid;
  std::string name;
  std::optional<uint64_t> total_bytes;
};

struct Machine {
  std::vector<MachineDevice> devices;
  std::vector<DeviceLink> links;
  std::vector<std::pair<std::string, std::string>> vendor_problems;  // vendor, why it has no devices here
  MachineMemory memory;
  int memory_group_version = 0;
  std::optional<uint64_t> group_used_bytes;
  std::optional<uint64_t> group_limit_bytes;
  std::vector<std::pair<std::string, std::string>> frameworks;  // name, version
  std::vector<SeenDevice> seen;
  std::vector<std::pair<std::string, std::string>> framework_problems;
};

/// `interpreter`: a Python whose frameworks are asked, which opens a context on each device; empty: none is.
/// errors: kNotFound when the interpreter cannot be started
Result<Machine> LookAtMachine(const std::string& interpreter);

/// The lines that python/memstrata/doctor_probe.py prints; others are left out: a framework may print as well.
void AddProbeLines(std::string_view text, Machine& machine);

}  // namespace memstrata::measure
