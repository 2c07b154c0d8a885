#include "measure/hook_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "dryrun/start_hook.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<HookFolder> HookFolder::Create() {
  std::error_code problem;
  std::string name = (fs::temp_directory_path(problem) / "memstrata-run-XXXXXX").string();
  if (problem || mkdtemp(name.data()) == nullptr)
    return Fail(ErrorCode::kIo, fmt::format("\"{}\" cannot be made.", name));
  HookFolder hook(name);
  MEMSTRATA_TRY(dryrun::WriteStartHook(name, dryrun::kRunPackage));
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
