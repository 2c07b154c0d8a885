#include "measure/machine.h"

#include <algorithm>

#include "base/tab_lines.h"
#include "dryrun/child.h"

namespace memstrata::data {
extern const std::string_view kDoctorProbe;
}  // namespace memstrata::data

namespace memstrata::measure {
namespace {

void AddDevices(FoundDevices& found, Machine& machine) {
  for (const auto& vendor : found.vendors) {
    const auto first_row = static_cast<uint32_t>(machine.devices.size());
    const size_t count = vendor->facts().size();
    for (size_t i = 0; i < count; ++i) machine.devices.push_back({vendor->facts()[i], vendor->Read(i)});
    for (uint32_t a = 0; a < count; ++a) {
      for (uint32_t b = a + 1; b < count; ++b) {
        std::string words = vendor->LinkBetween(a, b);
        if (!words.empty()) machine.links.push_back({first_row + a, first_row + b, std::move(words)});
      }
    }
  }
  for (const auto& [vendor, problem] : found.problems) machine.vendor_problems.emplace_back(vendor, problem);
}

}  // namespace

void AddProbeLines(std::string_view text, Machine& machine) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::vector<std::string> fields = SplitTabLine(line);
    if (fields[0] == "framework" && fields.size() == 3) {
      machine.frameworks.emplace_back(fields[1], fields[2]);
    } else if (fields[0] == "problem" && fields.size() == 3) {
      machine.framework_problems.emplace_back(fields[1], fields[2]);
    } else if (fields[0] == "device" && fields.size() == 6) {
      const std::optional<uint64_t> index = ParseUnsigned(fields[2]);
      if (index && *index <= UINT32_MAX)
        machine.seen.push_back(
            {fields[1], static_cast<uint32_t>(*index), fields[3], fields[4], ParseUnsigned(fields[5])});
    }
  }
}

Result<Machine> LookAtMachine(const std::string& interpreter) {
  Machine machine;
  FoundDevices found = FindDevices();
  AddDevices(found, machine);
  machine.memory = ReadMachineMemory();
  const MemoryGroup group;
  machine.memory_group_version = group.version();
  machine.group_used_bytes = group.UsedBytes();
  machine.group_limit_bytes = group.LimitBytes();
  if (interpreter.empty()) return machine;
  MEMSTRATA_ASSIGN_OR_RETURN(const dryrun::ChildResult probe,
                             dryrun::RunChild({interpreter, "-c", std::string(data::kDoctorProbe)},
                                              dryrun::OwnEnvironment(), dryrun::ChildOutput::kCapture));
  AddProbeLines(probe.output, machine);
  return machine;
}

}  // namespace memstrata::measure
