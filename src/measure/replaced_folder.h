#pragma once
// A folder of results that takes the place of an earlier one, which comes back unless the new one is kept.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace memstrata::measure {

class ReplacedFolder {
 public:
  /// What lies at the path must be of a kind that may be replaced: it is not looked at here.
  explicit ReplacedFolder(const std::string& path) : path_(path), earlier_(path_.string() + ".earlier") {}
  /// Removes the earlier one, or brings it back.
  ~ReplacedFolder();
  ReplacedFolder(const ReplacedFolder&) = delete;
  ReplacedFolder& operator=(const ReplacedFolder&) = delete;

  /// An empty folder that only its owner may read. errors: kInvalidArgument (another program writes to it just now),
  /// kIo
  Status Make();
  void Keep() { is_kept_ = true; }

 private:
  const std::filesystem::path path_;
  const std::filesystem::path earlier_;
  bool is_ours_ = false;  // what lies at the path
  bool is_kept_ = false;
  int lock_ = -1;  // of the new folder, until the end
};

}  // namespace memstrata::measure
