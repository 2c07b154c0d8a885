#include <algorithm>
#include <filesystem>

#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "query/ranks.h"
#include "readers/session_files.h"
#include "report/json/ranks_json.h"
#include "report/text/ranks_text.h"

namespace memstrata::cli {
namespace {

constexpr size_t kMostFiles = 100'000;

// The files of the folders among the names, in order of name; hidden ones are left alone. Of a session its recordings.
Result<std::vector<std::string>> ListFiles(const std::vector<std::string>& names, bool& has_folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code problem;
    if (!fs::is_directory(name, problem)) {
      files.push_back(name);
      continue;
    }
    has_folder = true;
    if (fs::is_regular_file(fs::path(name) / "session.json", problem)) {
      MEMSTRATA_ASSIGN_OR_RETURN(const SessionFiles session, ExpandFolders({name}));
      files.insert(files.end(), session.files.begin(), session.files.end());
      continue;
    }
    std::vector<std::string> found;
    fs::directory_iterator at(name, problem);
    for (; !problem && at != fs::directory_iterator() && found.size() < kMostFiles; at.increment(problem)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored) && !at->path().filename().string().starts_with('.'))
        found.push_back(at->path().string());
    }
    if (problem) return Fail(ErrorCode::kIo, "The folder " + name + " cannot be read: " + problem.message() + ".");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Status Ranks(const Arguments& arguments, Console& console) {
  RanksOptions options;
  MEMSTRATA_ASSIGN_OR_RETURN(options.layout, ParseLayout(arguments.Get("--layout").value_or("")));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, arguments.GetUnsigned("--world"));
  options.expected_count = count.value_or(0);
  bool has_folder = false;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFiles(arguments.positionals, has_folder));
  const auto open = [&](const std::string& file) {
    Arguments one = arguments;
    one.positionals = {file};
    return OpenFiles(one, console);
  };
  MEMSTRATA_ASSIGN_OR_RETURN(const RanksAnswer answer, CompareRankFiles(files, options, has_folder, open));
  if (arguments.Has("--json")) return WriteRanksJson(answer, console.out());
  return WriteRanksText(answer, {console.use_color(), console.width()}, console.out());
}

int RunRanks(const Arguments& arguments, Console& console) {
  const Status status = Ranks(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,
    {"--layout", "", "AXES",
     "Parallel layout, outermost first, for example dp=2,pp=2,tp=4; default: from the files' names"},
    {"--world", "", "N", "Ranks of the job, to name the missing ones; default: by the layout or the highest number"},
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata ranks snapshots/",
    "memstrata ranks rank*.pickle --layout pp=4,tp=2",
    "memstrata ranks snapshots/ --world 64 --json | jq '.missing_ranks'",
};

}  // namespace

const Subcommand kRanks = {
    .name = "ranks",
    .summary = "Which rank of a job is worst, which are missing, and which coordinate explains the difference",
    .description =
        "Compares the recordings of one job, one file for each rank: live peaks, what the worst rank holds that one in "
        "the\n"
        "middle does not, ranks without a file, and the parallel coordinate that explains the difference. Files are "
        "read one\n"
        "after the other.",
    .positional = {"FILE", "Recordings of a job, or a folder of them", 1, kUnlimited},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunRanks,
};

}  // namespace memstrata::cli
