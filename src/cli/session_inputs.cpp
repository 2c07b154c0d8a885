#include "cli/session_inputs.h"

#include <algorithm>
#include <filesystem>

#include "measure/session.h"

namespace memstrata::cli {
namespace {

namespace fs = std::filesystem;

// The session that an acceptance names by a path of where it was made; it may have been moved since. A run of a sweep
// lies one folder deeper.
std::string FindRun(const fs::path& folder, const fs::path& run) {
  for (const fs::path& place : {folder / run.filename(), folder / run.parent_path().filename() / run.filename()}) {
    if (!run.empty() && measure::IsMeasuredSession(place.string())) return place.string();
  }
  return {};
}

// An acceptance beside a session counts when the session is one of its runs.
std::optional<accept::SavedAcceptance> AcceptanceOfRun(const fs::path& file, const fs::path& session) {
  if (!accept::IsSavedAcceptance(file.string())) return std::nullopt;
  Result<accept::SavedAcceptance> saved = accept::ReadSavedAcceptance(file.string());
  const bool is_of_run = saved && std::any_of(saved->runs.begin(), saved->runs.end(), [&](const std::string& run) {
                           return fs::path(run).filename() == session.filename();
                         });
  return is_of_run ? std::optional(*std::move(saved)) : std::nullopt;
}

Result<SessionInputs> OfAcceptance(const fs::path& file) {
  MEMSTRATA_ASSIGN_OR_RETURN(accept::SavedAcceptance saved, accept::ReadSavedAcceptance(file.string()));
  SessionInputs inputs;
  inputs.measured_folder = FindRun(file.parent_path(), saved.highest_run);
  inputs.acceptance = std::move(saved);
  if (!inputs.measured_folder.empty()) inputs.files = {inputs.measured_folder};
  return inputs;
}

}  // namespace

Result<SessionInputs> FindInputs(const std::vector<std::string>& named) {
  SessionInputs inputs;
  inputs.files = named;
  if (named.size() != 1) return inputs;
  const fs::path path = fs::path(named.front()).lexically_normal();
  std::error_code ignored;
  if (measure::IsMeasuredSession(path.string())) {
    inputs.measured_folder = named.front();
    const fs::path session = path.filename().empty() ? path.parent_path() : path;
    inputs.acceptance = AcceptanceOfRun(session.parent_path() / accept::kAcceptanceFile, session);
  } else if (fs::is_regular_file(path / accept::kAcceptanceFile, ignored)) {
    return OfAcceptance(path / accept::kAcceptanceFile);
  } else if (path.extension() == ".json" && accept::IsSavedAcceptance(path.string())) {
    return OfAcceptance(path);
  }
  return inputs;
}

}  // namespace memstrata::cli
