#include "measure/replaced_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace memstrata::measure {

namespace fs = std::filesystem;

namespace {

// An open folder that nobody else has locked; -1: somebody has, or it cannot be opened.
int LockFolder(const fs::path& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0) {
    close(folder);
    return -1;
  }
  return folder;
}

}  // namespace

ReplacedFolder::~ReplacedFolder() {
  if (lock_ >= 0) close(lock_);
  if (!is_ours_) return;  // what lies there is the earlier one still
  std::error_code ignored;
  fs::remove_all(is_kept_ ? earlier_ : path_, ignored);
  if (!is_kept_ && fs::exists(earlier_, ignored)) fs::rename(earlier_, path_, ignored);
}

Status ReplacedFolder::Make() {
  std::error_code problem;
  if (fs::exists(path_, problem)) {
    const int earlier = LockFolder(path_);
    if (earlier < 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("Another program writes to \"{}\" just now, or it cannot be read.", path_.string()));
    }
    close(earlier);
    fs::remove_all(earlier_, problem);  // of a program that was killed just then
    if (!problem) fs::rename(path_, earlier_, problem);
  }
  is_ours_ = !problem;
  if (!problem) fs::create_directories(path_, problem);
  if (!problem) fs::permissions(path_, fs::perms::owner_all, problem);
  if (!problem) lock_ = LockFolder(path_);
  if (!problem) return {};
  return tl::unexpected(
      Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", problem.message()), path_.string(), {}});
}

}  // namespace memstrata::measure
