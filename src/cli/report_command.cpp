#include <fmt/format.h>

#include "cli/common_flags.h"
#include "cli/picture_flags.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "report/registry.h"

namespace memstrata::cli {
namespace {

Status Report(const Arguments& arguments, Console& console) {
  const std::optional<std::string> path = arguments.Get("--output");
  if (!path) return Fail(ErrorCode::kInvalidArgument, "Name the file to write: -o out.html.");
  MEMSTRATA_ASSIGN_OR_RETURN(const WriterInfo* writer, WriterFor(*path, AllWriters()));
  ReportOptions options{.full = arguments.Has("--full"), .picture = {}};
  MEMSTRATA_ASSIGN_OR_RETURN(options.picture, PictureOptionsFrom(arguments));
  if (options.full && !writer->has_full)
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--full is for .html: {} is complete as it is.", writer->suffix));
  return WriteReport(*writer, options, *path, arguments, console);
}

int RunReport(const Arguments& arguments, Console& console) {
  const Status status = Report(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), false);
}

constexpr FlagSpec kFlags[] = {
    {"--output", "-o", "FILE", "Write to this file; its ending says what: .html, .svg, .png, .json, .md, .csv"},
    {"--redact", "", "", "Without folders, host names and metadata of the user's program"},
    {"--full", "", "", "With .html: everything, whatever the size of the file"},
    kThemeFlag,
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata report snapshot.pickle -o out.html",
    "memstrata report before.pickle after.pickle -o both.html",
    "memstrata report snapshot.pickle -o timeline.png --theme dark",
    "memstrata report snapshot.pickle -o summary.md",
    "memstrata report snapshot.pickle --redact -o to_share.html",
};

}  // namespace

const Subcommand kReport = {
    .name = "report",
    .summary = "Write one file to share: the page without a server, a picture, or the summary",
    .description =
        "Writes what `memstrata open` shows into one file of at most 5 MB that opens without a server or network. What "
        "it\n"
        "leaves out to stay small, it says.",
    .positional = kFilesPositional,
    .flags = kFlags,
    .examples = kExamples,
    .run = RunReport,
};

}  // namespace memstrata::cli
