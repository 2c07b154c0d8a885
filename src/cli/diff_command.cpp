#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "query/diff.h"
#include "report/json/diff_json.h"
#include "report/text/diff_text.h"

namespace memstrata::cli {
namespace {

Status Diff(const Arguments& arguments, Console& console) {
  std::vector<Store> recordings;
  for (const std::string& file : arguments.positionals) {
    Arguments one = arguments;
    one.positionals = {file};
    MEMSTRATA_ASSIGN_OR_RETURN(Store store, OpenFiles(one, console));
    recordings.push_back(std::move(store));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const DiffAnswer answer,
                             memstrata::Diff(recordings, arguments.Get("--heap").value_or("")));
  if (arguments.Has("--json")) return WriteDiffJson(answer, console.out());
  constexpr uint64_t kUsualTop = 20;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> top, arguments.GetUnsigned("--top"));
  return WriteDiffText(answer, {console.use_color(), console.width()}, top.value_or(kUsualTop), console.out());
}

int RunDiff(const Arguments& arguments, Console& console) {
  const Status status = Diff(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,   kHeapFlag,  {"--top", "", "N", "Show the N largest changes (default 20); the rest is one row"},
    kFormatFlag, kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata diff before.pickle after.pickle",
    "memstrata diff monday.pickle tuesday.pickle wednesday.pickle",
    "memstrata diff before.pickle after.pickle --json | jq '.heaps[0].peak_live_delta_bytes'",
};

}  // namespace

const Subcommand kDiff = {
    .name = "diff",
    .summary = "What one capture holds at its peak that another one does not, by call stack and purpose",
    .description =
        "Compares the live peaks of two captures, or of a row of them as a trend. Blocks are matched by the functions "
        "and\n"
        "files of their call stacks and by what they are for; line numbers may have moved. The changes from the first "
        "to the\n"
        "last add up to the difference of the peaks.",
    .positional = {"FILE", "The captures, the earliest first; two or more", 2, kUnlimited},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunDiff,
};

}  // namespace memstrata::cli
