#include "dryrun/stage.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "dryrun/library_writer.h"
#include "dryrun/start_hook.h"
#include "dryrun/text_file.h"
#include "io/elf/dynamic_symbols.h"

namespace memstrata::data {
extern const std::string_view kDeviceLibrary;
}  // namespace memstrata::data

namespace memstrata::dryrun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeviceName = "libmemstrata_device.so";
constexpr const char* kGenericName = "libmemstrata_generic.so";
// Looked up by name at run time, so no wheel lists them.
constexpr const char* kAlwaysNeeded[] = {"libcuda.so.1", "libnvidia-ml.so.1"};
constexpr int32_t kLonePort = 29500;

void Prepend(Environment& environment, const std::string& name, const std::string& value, char separator) {
  std::string& current = environment[name];
  current = current.empty() ? value : value + separator + current;
}

// The newest kernels of the wheel that run on the card: same major version, not newer than the card.
int32_t KernelArchitecture(const Wheel& wheel, int32_t capability) {
  int32_t best = capability;
  for (const int32_t architecture : wheel.architectures) {
    if (architecture <= capability) best = architecture;
  }
  return best;
}

void SetRank(Environment& environment, const DryRunRequest& request) {
  environment["RANK"] = std::to_string(request.rank);
  environment["WORLD_SIZE"] = std::to_string(request.world_size);
  environment["LOCAL_RANK"] = "0";
  environment["LOCAL_WORLD_SIZE"] = "1";
  environment["MASTER_ADDR"] = "127.0.0.1";
  environment["MASTER_PORT"] = std::to_string(kLonePort);
  environment["MEMSTRATA_DRYRUN_LONE_RANK"] = "1";
}

}  // namespace

Result<std::vector<std::string>> AnsweredFunctions() {
  MEMSTRATA_ASSIGN_OR_RETURN(DynamicSymbols symbols,
                             ReadDynamicSymbols(MemoryAccess(std::string(data::kDeviceLibrary))));
  return std::move(symbols.defined);
}

std::string SettingsText(const DryRunRequest& request, const Wheel& wheel, const std::string& record_folder) {
  // Tenths of the compute capability are its minor part: 8.6 is 8 and 6.
  const auto capability = static_cast<int32_t>(std::lround(request.card.compute_capability * 10));
  constexpr uint64_t kShadowLimitBytes = 65536;  // DDP's parameter check and scalars; larger ones are data
  std::string text;
  const auto add = [&text](std::string_view key, const auto& value) { text += fmt::format("{} {}\n", key, value); };
  add("device_count", request.device_count);
  add("card_name", request.card.name);
  add("capacity_bytes", request.card.visible_bytes);
  add("context_bytes", request.card.context_bytes);
  add("major", capability / 10);
  add("minor", capability % 10);
  add("multiprocessor_count", request.card.multiprocessor_count);
  add("threads_per_multiprocessor", request.card.threads_per_multiprocessor);
  add("kernel_architecture", KernelArchitecture(wheel, capability));
  add("cuda_version", VersionNumber(wheel.cuda_version, 1000, 10));
  add("cudnn_version", VersionNumber(wheel.cudnn_version, 10000, 100));
  add("nccl_version", VersionNumber(wheel.nccl_version, 10000, 100));
  add("shadow_limit_bytes", request.shadow ? kShadowLimitBytes : 0);
  add("true_after", request.true_after);
  add("convolution_workspace_bytes", request.convolution_workspace_bytes);
  add("steps", request.step_count);
  add("record_folder", record_folder);
  return text;
}

Stage::Stage(std::string folder)
    : folder_(std::move(folder)), record_folder_(folder_ + "/records"), hook_folder_(folder_ + "/hook") {}

Stage::Stage(Stage&& other) noexcept
    : folder_(std::move(other.folder_)),
      record_folder_(std::move(other.record_folder_)),
      hook_folder_(std::move(other.hook_folder_)),
      preloaded_(std::move(other.preloaded_)) {
  other.folder_.clear();
}

Stage::~Stage() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<Stage> Stage::Create(const DryRunRequest& request, const Wheel& wheel) {
  MEMSTRATA_TRY(CheckKernels(wheel, request.card));
  std::error_code problem;
  std::string name = (fs::temp_directory_path(problem) / "memstrata-dryrun-XXXXXX").string();
  if (problem || name.find_first_of(": \n") != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" cannot hold the libraries of a dry run: LD_PRELOAD knows no blanks or colons in a "
                            "path. Set TMPDIR to another folder.",
                            name));
  }
  if (mkdtemp(name.data()) == nullptr) return Fail(ErrorCode::kIo, fmt::format("\"{}\" cannot be made.", name));
  Stage stage(name);
  if (!fs::create_directory(stage.record_folder_, problem) || !fs::create_directory(stage.hook_folder_, problem))
    return Fail(ErrorCode::kIo, fmt::format("No folder can be made in \"{}\".", name));
  MEMSTRATA_TRY(stage.WriteLibraries(wheel));
  MEMSTRATA_TRY(WriteStartHook(stage.hook_folder_, kDryRunPackage));
  MEMSTRATA_TRY(stage.WriteSettings(request, wheel));
  return stage;
}

Status Stage::WriteLibraries(const Wheel& wheel) {
  const auto add = [this](const std::string& name, std::string_view content) {
    preloaded_.push_back(folder_ + "/" + name);
    return WriteTextFile(preloaded_.back(), content);
  };
  MEMSTRATA_TRY(add(kDeviceName, data::kDeviceLibrary));
  std::vector<std::string> needed = {kDeviceName};
  if (!wheel.unanswered.empty()) {
    MEMSTRATA_TRY(add(kGenericName, WriteLibrary({kGenericName, {}, wheel.unanswered})));
    needed.emplace_back(kGenericName);
  }
  // A library that is opened by name is asked for its functions, so each shell leads to those who have them.
  std::vector<std::string> shells = wheel.shells;
  for (const char* name : kAlwaysNeeded) {
    if (std::find(shells.begin(), shells.end(), name) == shells.end()) shells.emplace_back(name);
  }
  for (const std::string& shell : shells) MEMSTRATA_TRY(add(shell, WriteLibrary({shell, needed, {}})));
  // Triton links what it compiles with -lcuda; the linker looks for this file.
  return WriteTextFile(folder_ + "/libcuda.so", WriteLibrary({"libcuda.so.1", needed, {}}));
}

Status Stage::WriteSettings(const DryRunRequest& request, const Wheel& wheel) const {
  return WriteTextFile(folder_ + "/settings", SettingsText(request, wheel, record_folder_));
}

Environment Stage::ChildEnvironment(const DryRunRequest& request) const {
  Environment environment = OwnEnvironment();
  std::string preload;
  for (const std::string& path : preloaded_) preload += (preload.empty() ? "" : ":") + path;
  Prepend(environment, "LD_PRELOAD", preload, ':');
  Prepend(environment, "PYTHONPATH", hook_folder_, ':');
  environment["MEMSTRATA_DRYRUN_SETTINGS"] = folder_ + "/settings";
  environment["TRITON_LIBCUDA_PATH"] = folder_;  // Triton links its launchers against the driver
  environment.erase("CUDA_VISIBLE_DEVICES");     // it names cards of this machine
  environment.emplace("PYTHONHASHSEED", "0");  // with fixed addresses (child.cpp): each run allocates in the same order
  if (request.expandable_segments) Prepend(environment, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", ',');
  if (request.world_size > 1) SetRank(environment, request);
  for (const auto& [name, value] : request.variables) environment[name] = value;
  return environment;
}

Status Stage::ClearRecords() const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(record_folder_, problem)) fs::remove(entry.path(), problem);
  if (problem) return Fail(ErrorCode::kIo, "The records of the last run cannot be removed.");
  return {};
}

}  // namespace memstrata::dryrun
