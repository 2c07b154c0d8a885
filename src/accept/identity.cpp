#include "accept/identity.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "accept/content_hash.h"

namespace memstrata::accept {
namespace {

InputFile Hash(const std::string& path) {
  InputFile input{path, {}, ""};
  if (const std::optional<FileHash> found = HashOfFile(path)) {
    input.size_bytes = found->size_bytes;
    input.hash = found->hash;
  }
  return input;
}

std::string Joined(const Command& command) { return fmt::format("{}", fmt::join(command, " ")); }

std::map<std::string, std::string> SettingsOf(const Spec& spec) {
  const WorkloadSpec& workload = spec.workload;
  std::map<std::string, std::string> settings = {
      {"copies", std::to_string(workload.copies)},
      {"warmup", std::to_string(workload.warmup_count)},
      {"iterations", std::to_string(workload.iteration_count)},
      {"repeats", std::to_string(workload.repeat_count)},
      {"timeout_s", fmt::format("{:g}", workload.timeout_s)},
      {"sample_rate_hz", fmt::format("{:g}", workload.sample_rate_hz)},
      {"capture", workload.capture},
  };
  for (size_t i = 0; i < workload.beside.size(); ++i)
    settings[fmt::format("beside {}", i + 1)] = Joined(Fill(workload.beside[i], spec.parameters));
  const QualitySpec& quality = spec.quality;
  if (!quality.command.empty()) settings["quality"] = Joined(Fill(quality.command, spec.parameters));
  if (!quality.function.empty()) settings["quality"] = quality.function;
  if (!quality.output.empty())
    settings["quality"] = fmt::format("{} compared with {}{}", Fill(quality.output, spec.parameters),
                                      Fill(quality.reference, spec.parameters),
                                      quality.tolerance ? fmt::format(" within {:g}", *quality.tolerance) : "");
  return settings;
}

void AddOnce(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

Identity IdentityOf(const Spec& spec) {
  Identity identity;
  identity.spec_hash = spec.hash;
  identity.settings = SettingsOf(spec);
  identity.command = spec.workload.entry.empty() ? Fill(spec.workload.command, spec.parameters)
                                                 : Command{spec.workload.python, spec.workload.entry};
  utsname names{};
  if (uname(&names) == 0) identity.system = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  for (const std::string& input : spec.workload.inputs) identity.inputs.push_back(Hash(Fill(input, spec.parameters)));
  return identity;
}

void AddMeasured(const Spec& spec, const std::vector<RepeatFigures>& repeats, Identity& identity) {
  for (const RepeatFigures& repeat : repeats) {
    for (const auto& [name, value] : repeat.variables) {
      if (!spec.environment.contains(name)) identity.inherited[name] = value;
    }
    for (const std::string& framework : repeat.frameworks) AddOnce(identity.frameworks, framework);
    for (const DeviceFigures& device : repeat.devices)
      AddOnce(identity.devices, device.driver.empty() ? device.id : device.id + ", driver " + device.driver);
  }
}

}  // namespace memstrata::accept
