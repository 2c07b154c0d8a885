#include "dryrun/start_hook.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <utility>

#include "dryrun/text_file.h"

namespace memstrata::data {
extern const std::string_view kStartHook;
extern const std::span<const std::pair<std::string_view, std::string_view>> kCaptureModules;
}  // namespace memstrata::data

namespace memstrata::dryrun {

Status WriteStartHook(const std::string& folder, const char* package) {
  const std::filesystem::path copy = std::filesystem::path(folder) / package;
  std::error_code problem;
  if (!std::filesystem::create_directory(copy, problem))
    return Fail(ErrorCode::kIo, fmt::format("No folder can be made in \"{}\".", folder));
  for (const auto& [file, text] : data::kCaptureModules) MEMSTRATA_TRY(WriteTextFile((copy / file).string(), text));
  return WriteTextFile((std::filesystem::path(folder) / "sitecustomize.py").string(), data::kStartHook);
}

}  // namespace memstrata::dryrun
