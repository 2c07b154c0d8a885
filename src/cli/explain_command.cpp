#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "query/explain.h"
#include "report/json/explain_json.h"
#include "report/text/explain_text.h"

namespace memstrata::cli {
namespace {

Status Explain(const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(arguments, console));
  MEMSTRATA_ASSIGN_OR_RETURN(const ExplainAnswer answer,
                             memstrata::Explain(store, {.heap = arguments.Get("--heap").value_or("")}));
  if (arguments.Has("--json")) return WriteExplainJson(answer, console.out());
  return WriteExplainText(answer, {console.use_color(), console.width()}, console.out());
}

int RunExplain(const Arguments& arguments, Console& console) {
  const Status status = Explain(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {kJsonFlag, kHeapFlag, kFormatFlag, kQuietFlag};
constexpr std::string_view kExamples[] = {
    "memstrata explain snapshot.pickle",
    "memstrata explain snapshot.pickle --json | jq '.heaps[0].growth'",
};

}  // namespace

const Subcommand kExplain = {
    .name = "explain",
    .summary = "What each part of the memory timeline is, what made the peak, and whether memory grows",
    .description =
        "Finds the steps and phases of the program, what each block is for, what makes the peak and what would make it "
        "next,\n"
        "and whether memory grows from step to step and who holds it. Needs no annotations by the user.",
    .positional = kFilesPositional,
    .flags = kFlags,
    .examples = kExamples,
    .run = RunExplain,
};

}  // namespace memstrata::cli
