#include "dryrun/wheel.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "dryrun/child.h"
#include "dryrun/vendor.h"
#include "io/elf/dynamic_symbols.h"
#include "io/source/file_source.h"

namespace memstrata::data {
extern const std::string_view kDryRunProbe;
}

namespace memstrata::dryrun {
namespace {

namespace fs = std::filesystem;

std::string BaseName(const std::string& path) { return fs::path(path).filename().string(); }

bool IsPython(const std::string& program) { return BaseName(program).rfind("python", 0) == 0; }

// Where the shell would find `program`.
std::string OnPath(const std::string& program, const Environment& environment) {
  if (program.find('/') != std::string::npos) return program;
  const auto path = environment.find("PATH");
  std::string_view rest = path == environment.end() ? std::string_view() : std::string_view(path->second);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / program;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate.string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

// "#!/usr/bin/python3 -s" → "/usr/bin/python3"; empty when the file does not begin like that.
std::string InterpreterLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line.rfind("#!", 0) != 0) return "";
  line.erase(0, 2);
  return line.substr(0, line.find(' '));
}

std::vector<fs::path> LibrariesOf(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "lib", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".so") != std::string::npos && !IsVendorLibrary(name)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Status ReadNeeds(Wheel& wheel, const std::vector<std::string>& answered) {
  std::set<std::string> shells, wanted, defined(answered.begin(), answered.end());
  for (const fs::path& path : LibrariesOf(wheel.folder)) {
    MEMSTRATA_ASSIGN_OR_RETURN(const auto file, FileSource::Open(path.string()));
    Result<DynamicSymbols> symbols = ReadDynamicSymbols(*file);
    if (!symbols) {
      symbols.error().file = path.string();
      return tl::unexpected(symbols.error());
    }
    for (std::string& name : symbols->needed) {
      if (IsVendorLibrary(name)) shells.insert(std::move(name));
    }
    for (std::string& name : symbols->undefined) {
      if (IsVendorFunction(name)) wanted.insert(std::move(name));
    }
    for (std::string& name : symbols->defined) {
      if (IsVendorFunction(name)) defined.insert(std::move(name));
    }
  }
  wheel.vendor_function_count = wanted.size();
  wheel.shells.assign(shells.begin(), shells.end());
  std::set_difference(wanted.begin(), wanted.end(), defined.begin(), defined.end(),
                      std::back_inserter(wheel.unanswered));
  return {};
}

}  // namespace

std::string InterpreterOf(const std::vector<std::string>& command) {
  const std::string program = OnPath(command.front(), OwnEnvironment());
  if (IsPython(command.front())) return command.front();
  const std::string named = program.empty() ? "" : InterpreterLine(program);
  return IsPython(named) ? named : "python3";
}

std::map<std::string, std::string> ParseProbe(const std::string& output) {
  std::map<std::string, std::string> values;
  std::string_view rest = output;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const size_t tab = line.find('\t');
    if (tab != std::string_view::npos) values.emplace(line.substr(0, tab), line.substr(tab + 1));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

std::vector<int32_t> ParseArchitectures(const std::string& text) {
  std::set<int32_t> found;
  for (size_t at = text.find('_'); at != std::string::npos; at = text.find('_', at + 1)) {
    int32_t number = 0;
    const auto [end, problem] = std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
    if (problem == std::errc{}) found.insert(number);
  }
  return {found.begin(), found.end()};
}

Status CheckKernels(const Wheel& wheel, const plan::Card& card) {
  const auto capability = static_cast<int32_t>(std::lround(card.compute_capability * 10));
  const auto runs = [capability](int32_t kernel) { return kernel / 10 == capability / 10 && kernel <= capability; };
  const bool is_portable = wheel.portable_architecture > 0 && wheel.portable_architecture <= capability;
  if (wheel.architectures.empty() || is_portable || std::ranges::any_of(wheel.architectures, runs)) return {};
  std::string known;
  for (const int32_t kernel : wheel.architectures)
    known += fmt::format("{}{}.{}", known.empty() ? "" : ", ", kernel / 10, kernel % 10);
  return Fail(
      ErrorCode::kUnsupportedFormat,
      fmt::format("PyTorch {} has no kernels for the {}, whose compute capability is {:.1f}: it has them for {}. "
                  "On that card the first one would fail. Another release may have them.",
                  wheel.torch_version, card.name, card.compute_capability, known));
}

int32_t VersionNumber(const std::string& version, int32_t major_scale, int32_t minor_scale) {
  int32_t parts[3] = {0, 0, 0};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int32_t& part : parts) {
    const auto [next, problem] = std::from_chars(at, end, part);
    if (problem != std::errc{} || next == end) break;
    at = next + 1;
  }
  return parts[0] * major_scale + parts[1] * minor_scale + parts[2];
}

Result<Wheel> ProbeWheel(const std::string& interpreter, const std::vector<std::string>& answered) {
  MEMSTRATA_ASSIGN_OR_RETURN(const ChildResult probe, RunChild({interpreter, "-c", std::string(data::kDryRunProbe)},
                                                               OwnEnvironment(), ChildOutput::kCapture));
  const auto values = ParseProbe(probe.output);
  const auto value = [&values](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  Wheel wheel;
  wheel.interpreter = interpreter;
  wheel.folder = value("folder");
  if (wheel.folder.empty()) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("\"{}\" has no PyTorch. A dry run needs a CUDA build of it, without the vendor's packages: "
                    "pip install --no-deps torch, and its pure-Python dependencies. Where another program starts "
                    "Python (bash, a launcher), name its interpreter with --python. For a JAX function: "
                    "memstrata.dryrun_jax.",
                    interpreter));
  }
  wheel.torch_version = value("torch");
  wheel.cuda_version = value("cuda");
  wheel.cudnn_version = value("cudnn");
  wheel.nccl_version = value("nccl");
  const std::string text = value("architectures");
  wheel.architectures = ParseArchitectures(text);
  const std::vector<int32_t> portable = ParseArchitectures(text.substr(std::min(text.find("compute_"), text.size())));
  if (!portable.empty()) wheel.portable_architecture = portable.front();
  if (wheel.cuda_version.empty()) {
    return Fail(ErrorCode::kUnsupportedFormat,
                fmt::format("PyTorch {} in {} is a build without CUDA. A dry run needs one with it.",
                            wheel.torch_version, wheel.folder));
  }
  MEMSTRATA_TRY(ReadNeeds(wheel, answered));
  return wheel;
}

}  // namespace memstrata::dryrun
