#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "report/json/ledger_json.h"
#include "report/text/ledger_text.h"

namespace memstrata::cli {
namespace {

Result<std::string> TextOf(const Arguments& arguments, Console& console) {
  const std::string& folder = arguments.positionals.front();
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(folder));
  const auto progress = [&console](const ReadProgress& now) { console.Progress(ProgressText(now)); };
  MEMSTRATA_ASSIGN_OR_RETURN(const std::shared_ptr<SessionIndex> recording, LoadSession({folder}, arguments, progress));
  console.ClearProgress();
  MEMSTRATA_ASSIGN_OR_RETURN(const ledger::Ledger answer,
                             ledger::MakeLedger(session, recording.get(), arguments.Get("--at").value_or("peak")));
  if (arguments.Has("--json")) return LedgerJson(session, answer);
  if (arguments.Has("--markdown")) return LedgerMarkdown(session, answer);
  return LedgerText(session, answer, {console.use_color(), console.width()});
}

int RunLedger(const Arguments& arguments, Console& console) {
  const Result<std::string> text = TextOf(arguments, console);
  if (!text) return console.ReportError(text.error(), arguments.Has("--json"));
  const Status status = console.out().Write(*text);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), false);
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,
    {"--markdown", "", "", "Print Markdown tables instead of text"},
    {"--at", "", "MOMENT",
     "The moment: peak (default) of each device, end (while the program still ran), or a time after the first sample "
     "(1.5s, 250ms)"},
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata ledger run.memstrata",
    "memstrata ledger run.memstrata --at end --json | jq '.devices[0].unexplained_bytes'",
};

}  // namespace

const Subcommand kLedger = {
    .name = "ledger",
    .summary = "Add up from tensors to what the device says is used, with what is left unexplained",
    .description =
        "Takes the folder that `memstrata run` left and adds up, to the byte, what the device holds at one moment:\n"
        "tensors by category, rounding, idle memory in the framework's pools, what the process takes beside its "
        "framework,\n"
        "other processes, the driver's reserve; what is left is \"unexplained\". The same for the host.",
    .positional = {"SESSION", "Folder of a measured run", 1, 1},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunLedger,
};

}  // namespace memstrata::cli
