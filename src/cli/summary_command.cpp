#include <algorithm>

#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "query/summary.h"
#include "report/json/summary_json.h"
#include "report/text/summary_text.h"

namespace memstrata::cli {
namespace {

Result<SummaryOptions> ReadOptions(const Arguments& arguments) {
  SummaryOptions options;
  options.heap = arguments.Get("--heap").value_or("");
  options.at = arguments.Get("--at").value_or("peak");
  if (const auto by = arguments.Get("--by")) {
    const auto* found = std::find(std::begin(kHolderKeyNames), std::end(kHolderKeyNames), *by);
    options.by = static_cast<HolderKey>(found - std::begin(kHolderKeyNames));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> top, arguments.GetUnsigned("--top"));
  if (top) options.top_count = *top;
  return options;
}

Status Summary(const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(SummaryOptions options, ReadOptions(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(arguments, console));
  const bool json = arguments.Has("--json");
  if (!json) options.curve_column_count = static_cast<uint32_t>(std::clamp(console.width() - 16, 40, 100));
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(store, options));
  if (json) return WriteSummaryJson(answer, console.out());
  const bool full_stacks = arguments.Has("--full-stacks");
  return WriteSummaryText(answer, {.style = {console.use_color(), console.width()}, .full_stacks = full_stacks},
                          console.out());
}

int RunSummary(const Arguments& arguments, Console& console) {
  const Status status = Summary(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,
    kHeapFlag,
    {"--at", "", "MOMENT",
     "Who holds memory at this moment: peak (default), end, the number of an event, or a time after the first event "
     "(1.5s, 250ms)"},
    {"--by", "", "KEY", "Group holders by stack (default), function, file, module or category", kHolderKeyNames},
    {"--top", "", "N", "Show the N largest holders (default 10); the rest is one row"},
    {"--full-stacks", "", "", "Show every frame, the plumbing of interpreter and dispatcher too"},
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata summary snapshot.pickle",
    "memstrata summary snapshot.pickle --by function --top 20",
    "memstrata summary snapshot.pickle.gz --at end --heap cuda:1",
    "memstrata summary snapshot.pickle --json | jq '.heaps[0].peak.live.bytes'",
};

}  // namespace

const Subcommand kSummary = {
    .name = "summary",
    .summary = "What is in a file, how high memory went, when, and who holds it",
    .description =
        "Reads a capture and says how high memory went, at which moment, who holds that peak by call stack, how much "
        "is\n"
        "reserved but idle and why, which out-of-memory events there were, and what the file cannot tell.",
    .positional = kFilesPositional,
    .flags = kFlags,
    .examples = kExamples,
    .run = RunSummary,
};

}  // namespace memstrata::cli
