#include "readers/session_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace memstrata {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestFolder = 8;
constexpr size_t kMostEntries = 100'000;

bool EndsWithAny(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// What XLA writes of one compiled program, the file that says most first.
constexpr std::string_view kProgramSuffixes[] = {".hlo_proto.pb", ".hlo.pb", "-buffer-assignment.txt",
                                                 "-memory-usage-report.txt"};
// A dump of --xla_dump_to also holds programs before memory was planned.
constexpr std::string_view kUnplanned = ".before_optimizations.";

struct Found {
  std::map<std::string, std::vector<std::string>> runs;  // folder → *.xplane.pb in it
  std::map<std::string, size_t> programs;                // path without suffix → which of kProgramSuffixes
  uint64_t riegeli_count = 0;
  uint64_t unplanned_count = 0;

  void AddProgram(const std::string& path) {
    for (size_t i = 0; i < std::size(kProgramSuffixes); ++i) {
      if (!path.ends_with(kProgramSuffixes[i])) continue;
      if (path.find(kUnplanned) != std::string::npos) {
        ++unplanned_count;
        return;
      }
      const auto [entry, is_new] = programs.try_emplace(path.substr(0, path.size() - kProgramSuffixes[i].size()), i);
      entry->second = std::min(entry->second, i);
      return;
    }
  }
};

// Walks a folder without following links to folders; unreadable folders count as empty.
Found Search(const std::string& folder) {
  Found found;
  std::error_code problem;
  size_t entries = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && at != fs::recursive_directory_iterator() && entries < kMostEntries;
       at.increment(problem), ++entries) {
    if (at.depth() >= kDeepestFolder) at.disable_recursion_pending();
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const std::string path = at->path().string();
    if (EndsWithAny(path, {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst"})) {
      found.runs[at->path().parent_path().string()].push_back(path);
    } else if (path.ends_with(kRiegeliSuffix)) {
      ++found.riegeli_count;
    } else {
      found.AddProgram(path);
    }
  }
  return found;
}

std::vector<std::string> FilesIn(const fs::path& folder, std::string_view suffix) {
  std::vector<std::string> files;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem); !problem && at != fs::directory_iterator(); at.increment(problem)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (at->is_regular_file(ignored) && !name.starts_with('.') && name.ends_with(suffix))
      files.push_back(at->path().string());
    if (files.size() == kMostEntries) break;
  }
  // rank9 before rank10
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return files;
}

// A session folder of memstrata's capture: PyTorch's snapshots, and what JAX and TensorFlow wrote, of every rank.
Status ExpandSession(const fs::path& folder, SessionFiles& session) {
  const size_t count_before = session.files.size();
  const auto add = [&](const std::vector<std::string>& files) {
    session.files.insert(session.files.end(), files.begin(), files.end());
  };
  add(FilesIn(folder / "torch", ".pickle"));
  std::map<std::string, std::vector<std::string>> profiles;  // folder of a rank → files of its last run
  for (auto& [run, files] : Search((folder / "xplane").string()).runs)
    profiles[fs::path(run).lexically_relative(folder / "xplane").begin()->string()] = std::move(files);
  for (auto& [rank, files] : profiles) {
    std::sort(files.begin(), files.end());
    add(files);
  }
  add(FilesIn(folder / "jax", "_end.prof"));
  if (session.files.size() > count_before) return {};
  return Fail(
      ErrorCode::kNotFound,
      "This session folder holds no recording: no framework recorded itself, or the program ended before it was "
      "written.");
}

Status Expand(const std::string& folder, SessionFiles& session) {
  std::error_code ignored;
  if (fs::is_regular_file(fs::path(folder) / "session.json", ignored)) return ExpandSession(folder, session);
  Found found = Search(folder);
  if (!found.runs.empty()) {
    const auto own = found.runs.find(fs::path(folder).lexically_normal().string());
    auto run = own != found.runs.end() ? own : std::prev(found.runs.end());
    std::sort(run->second.begin(), run->second.end());
    session.files.insert(session.files.end(), run->second.begin(), run->second.end());
    session.other_run_count += found.runs.size() - 1;
    session.unreadable_count += found.riegeli_count;
    return {};
  }
  if (!found.programs.empty()) {
    for (const auto& [path, suffix] : found.programs)
      session.files.push_back(path + std::string(kProgramSuffixes[suffix]));
    session.unplanned_count += found.unplanned_count;
    return {};
  }
  if (found.riegeli_count > 0) {
    return Fail(ErrorCode::kUnsupportedFormat,
                "The profiles in this folder are in riegeli files (*.xplane.riegeli), which cannot be read here; "
                "record with a profiler that writes *.xplane.pb.");
  }
  return Fail(
      ErrorCode::kNotFound,
      "There is no profile (*.xplane.pb) and no compiled program (*.hlo_proto.pb, or a dump of --xla_dump_to) in "
      "this folder.");
}

}  // namespace

Result<SessionFiles> ExpandFolders(const std::vector<std::string>& paths) {
  SessionFiles session;
  for (const std::string& path : paths) {
    std::error_code problem;
    if (path == "-" || !fs::is_directory(path, problem)) {
      session.files.push_back(path);
      continue;
    }
    if (Status status = Expand(path, session); !status) {
      Error error = std::move(status).error();
      error.file = path;
      return tl::unexpected(std::move(error));
    }
  }
  return session;
}

}  // namespace memstrata
