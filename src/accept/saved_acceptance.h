#pragma once
// The report that `memstrata accept` left in its folder, read back to be shown beside a recording.

#include <string>
#include <vector>

#include "base/result.h"

namespace memstrata::accept {

/// The file in the folder of an acceptance; "{}" in it marks one that was cut off.
inline constexpr std::string_view kAcceptanceFile = "accept.json";

struct SavedAcceptance {
  std::string json;               // the file, checked to be JSON with the schema of an acceptance
  std::vector<std::string> runs;  // their session folders, as the file names them
  std::string highest_run;        // the one of them with the highest peak; empty: no run
  bool is_redacted = false;
};

/// Whether the file begins as one. cost: reads its first bytes
bool IsSavedAcceptance(const std::string& path);

/// errors: kNotFound where the acceptance was cut off before its verdict, kCorruptInput, kIo, kLimitExceeded (64 MiB)
Result<SavedAcceptance> ReadSavedAcceptance(const std::string& path);

}  // namespace memstrata::accept
