#include "measure/replaced_folder.h"

#include <fmt/format.h>

namespace memstrata::measure {

namespace fs = std::filesystem;

ReplacedFolder::~ReplacedFolder() {
  if (!is_ours_) return;  // what lies there is the earlier one still
  std::error_code ignored;
  fs::remove_all(is_kept_ ? earlier_ : path_, ignored);
  if (!is_kept_ && fs::exists(earlier_, ignored)) fs::rename(earlier_, path_, ignored);
}

Status ReplacedFolder::Make() {
  std::error_code problem;
  if (fs::exists(path_, problem)) {
    fs::remove_all(earlier_, problem);  // of a program that was killed just then
    if (!problem) fs::rename(path_, earlier_, problem);
  }
  is_ours_ = !problem;
  if (!problem) fs::create_directories(path_, problem);
  if (!problem) fs::permissions(path_, fs::perms::owner_all, problem);
  if (!problem) return {};
  return tl::unexpected(
      Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", problem.message()), path_.string(), {}});
}

}  // namespace memstrata::measure
