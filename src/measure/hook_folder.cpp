#include "measure/hook_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <span>

namespace memstrata::data {
extern const std::string_view kRunHook;
extern const std::span<const std::pair<std::string_view, std::string_view>> kCaptureModules;
}  // namespace memstrata::data

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "memstrata_run_capture";  // not the name of the installed one, which may be another

Status WriteFile(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be written.", path.string(), {}});
  return {};
}

}  // namespace

Result<HookFolder> HookFolder::Create() {
  std::error_code problem;
  std::string name = (fs::temp_directory_path(problem) / "memstrata-run-XXXXXX").string();
  if (problem || mkdtemp(name.data()) == nullptr)
    return Fail(ErrorCode::kIo, fmt::format("\"{}\" cannot be made.", name));
  HookFolder hook(name);
  const fs::path package = fs::path(name) / kPackage;
  if (!fs::create_directory(package, problem))
    return Fail(ErrorCode::kIo, fmt::format("No folder can be made in \"{}\".", name));
  for (const auto& [file, text] : data::kCaptureModules) MEMSTRATA_TRY(WriteFile(package / file, text));
  MEMSTRATA_TRY(WriteFile(fs::path(name) / "sitecustomize.py", data::kRunHook));
  return hook;
}

HookFolder::~HookFolder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

void HookFolder::SetVariables(const RunRequest& request, dryrun::Environment& environment) const {
  std::string& path = environment["PYTHONPATH"];
  path = path.empty() ? folder_ : folder_ + ":" + path;
  std::error_code ignored;
  environment["MEMSTRATA_RUN_FOLDER"] = fs::absolute(request.folder, ignored).string();
  environment["MEMSTRATA_RUN_MODE"] = kCaptureModeNames[static_cast<size_t>(request.mode)];
  environment["MEMSTRATA_RUN_SAVE_EVERY_NS"] = std::to_string(request.save_every_ns);
  if (request.most_entries) environment["MEMSTRATA_RUN_MAX_ENTRIES"] = std::to_string(*request.most_entries);
}

}  // namespace memstrata::measure
