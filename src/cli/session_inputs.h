#pragma once
// What a user names to have it shown: files, the session of a measured run, an acceptance.

#include <optional>
#include <string>
#include <vector>

#include "accept/saved_acceptance.h"
#include "base/result.h"

namespace memstrata::cli {

struct SessionInputs {
  std::vector<std::string> files;                     // to read recordings from
  std::string measured_folder;                        // of `memstrata run`; empty: none
  std::optional<accept::SavedAcceptance> acceptance;  // of `memstrata accept`

  /// Whether there is something to show where no recording is.
  bool HasDocument() const { return !measured_folder.empty() || acceptance.has_value(); }
};

/// The folder or the accept.json of an acceptance stands for its run with the highest peak; the session of one of its
/// runs brings the acceptance with it. Several names are files. errors: as ReadSavedAcceptance
Result<SessionInputs> FindInputs(const std::vector<std::string>& named);

}  // namespace memstrata::cli
