#include "cli/common_flags.h"
#include "cli/picture_flags.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "plan/cards.h"
#include "plan/constants.h"
#include "query/explain.h"
#include "report/json/explain_json.h"
#include "report/registry.h"
#include "report/text/explain_text.h"

namespace memstrata::cli {
namespace {

// The annotated timeline as a file.
Status DrawPicture(const std::string& path, const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(const WriterInfo* writer, WriterFor(path, PictureWriters()));
  ReportOptions options;
  MEMSTRATA_ASSIGN_OR_RETURN(options.picture, PictureOptionsFrom(arguments));
  return WriteReport(*writer, options, path, arguments, console);
}

// A capacity alone is taken for that of a card that CUDA programs run on.
uint64_t ContextOf(const plan::Card& card) {
  if (card.context_bytes > 0) return card.context_bytes;
  return static_cast<uint64_t>(plan::GetConstant("workload_context_bytes").best);
}

Status Explain(const Arguments& arguments, Console& console) {
  if (const std::optional<std::string> path = arguments.Get("--output")) return DrawPicture(*path, arguments, console);
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(arguments, console));
  ExplainOptions options = {.heap = arguments.Get("--heap").value_or("")};
  if (const std::optional<std::string> name = arguments.Get("--card")) {
    MEMSTRATA_ASSIGN_OR_RETURN(const plan::Card card, plan::FindCard(*name));
    options.device.capacity_bytes = card.visible_bytes;
    options.device.outside_bytes = ContextOf(card);
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const ExplainAnswer answer, memstrata::Explain(store, options));
  if (arguments.Has("--json")) return WriteExplainJson(answer, console.out());
  return WriteExplainText(answer, {console.use_color(), console.width()}, console.out());
}

int RunExplain(const Arguments& arguments, Console& console) {
  const Status status = Explain(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,
    {"--output", "-o", "FILE", "Draw the annotated timeline into this file; its ending says how: .png, .svg, .html"},
    kThemeFlag,
    {"--card", "", "NAME", "The device, or its memory such as 80GiB: says when growth ends in out-of-memory"},
    kHeapFlag,
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata explain snapshot.pickle",
    "memstrata explain snapshot.pickle -o picture.png",
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
