#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "accept/gate.h"
#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/verbs.h"
#include "cli/verdict_status.h"
#include "plan/request_file.h"
#include "report/ci/gate_ci.h"
#include "report/json/gate_json.h"
#include "report/text/gate_text.h"

namespace memstrata::cli {
namespace {

constexpr size_t kMostBaselineBytes = size_t{64} << 20;

Result<accept::GateRuns> ReadRuns(const Arguments& arguments, Console& console) {
  accept::GateRuns runs;
  for (const std::string& file : arguments.positionals) {
    Arguments one = arguments;
    one.positionals = {file};
    std::vector<accept::HeapFigures> measured;
    if (measure::IsMeasuredSession(file)) {
      MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(file));
      measured = accept::MeasuredFigures(session);
    }
    Result<Store> store = OpenFiles(one, console);
    if (!store && store.error().code == ErrorCode::kNotFound && !measured.empty()) store = OpenSession({}, {});
    if (!store) return tl::unexpected(std::move(store).error());
    MEMSTRATA_TRY(runs.Add(*std::move(store), std::move(measured), file));
  }
  return runs;
}

// Why the first figure that there is cannot be kept.
std::string WhyNot(const accept::GateRuns& runs) {
  for (const accept::RunFigures& run : runs.runs()) {
    for (const accept::HeapFigures& heap : run.heaps) {
      if (heap.is_lower_bound) return fmt::format(" {} was not measured whole: {}", heap.id, heap.lower_bound_reason);
    }
  }
  return {};
}

Result<int> Update(const std::string& path, const accept::GateRuns& runs, const std::string& tolerance,
                   Console& console) {
  const accept::Baseline baseline = accept::BaselineOf(runs, tolerance);
  if (baseline.heaps.empty())
    return Fail(ErrorCode::kUnsupportedFormat,
                "The runs have no figure that could be kept in a baseline." + WhyNot(runs));
  MEMSTRATA_TRY(WriteWhole(path, accept::BaselineJson(baseline)));
  console.Message(fmt::format("{} now holds {} of {} run{}.", path,
                              baseline.heaps.size() == 1 ? "one heap" : fmt::format("{} heaps", baseline.heaps.size()),
                              baseline.run_count, baseline.run_count == 1 ? "" : "s"));
  return kExitOk;
}

// What GitHub Actions reads: annotations from standard output, the summary from a file that it names.
Status WriteGithub(const accept::GateAnswer& answer, Console& console) {
  const char* root = std::getenv("GITHUB_WORKSPACE");
  std::error_code ignored;  // without a current folder paths stay whole
  const std::string folder = root != nullptr ? root : std::filesystem::current_path(ignored).string();
  MEMSTRATA_TRY(console.out().Write(GateAnnotations(answer, folder)));
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return {};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(summary, "ab"), &std::fclose);
  if (file == nullptr) return tl::unexpected(Error{ErrorCode::kIo, "The job summary cannot be written.", summary, {}});
  return FileSink(file.get()).Write(GateMarkdown(answer) + "\n");
}

Status Print(const Arguments& arguments, const accept::GateAnswer& answer, Console& console) {
  if (const std::optional<std::string> path = arguments.Get("--junit")) {
    StringSink sink;
    MEMSTRATA_TRY(WriteGateJunit(answer, sink));
    MEMSTRATA_TRY(WriteWhole(*path, sink.text()));
  }
  if (const std::optional<std::string> path = arguments.Get("--markdown"))
    MEMSTRATA_TRY(WriteWhole(*path, GateMarkdown(answer)));
  if (arguments.Has("--json")) return WriteGateJson(answer, console.out());
  MEMSTRATA_TRY(WriteGateText(answer, {console.use_color(), console.width()}, console.out()));
  return arguments.Has("--github") ? WriteGithub(answer, console) : Status{};
}

Result<int> GateOrUpdate(const Arguments& arguments, Console& console) {
  const std::optional<std::string> path = arguments.Get("--baseline");
  if (!path) return Fail(ErrorCode::kInvalidArgument, "Say what to compare with: --baseline memory.json");
  if (arguments.Has("--json") && arguments.Has("--github"))
    return Fail(ErrorCode::kInvalidArgument, "Give --json or --github, not both: each has standard output.");
  const std::string tolerance = arguments.Get("--tolerance").value_or("");
  std::optional<accept::GivenTolerance> given;
  if (!tolerance.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(given, accept::ParseTolerance(tolerance));
  }
  if (arguments.Has("--update")) {
    MEMSTRATA_ASSIGN_OR_RETURN(const accept::GateRuns runs, ReadRuns(arguments, console));
    return Update(*path, runs, tolerance, console);
  }
  const auto in_file = [&](Error error) {
    error.file = *path;
    return tl::unexpected(std::move(error));
  };
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, plan::ReadSmallFile(*path, kMostBaselineBytes));
  const Result<accept::Baseline> baseline = accept::ParseBaseline(text);
  if (!baseline) return in_file(baseline.error());
  MEMSTRATA_ASSIGN_OR_RETURN(const accept::GateRuns runs, ReadRuns(arguments, console));
  MEMSTRATA_ASSIGN_OR_RETURN(accept::GateAnswer answer, accept::Gate(*baseline, runs, given));
  answer.baseline_file = *path;
  MEMSTRATA_TRY(Print(arguments, answer, console));
  return ExitStatusOf(answer.verdict);
}

int RunGate(const Arguments& arguments, Console& console) {
  return console.Finish(GateOrUpdate(arguments, console), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    {"--baseline", "", "FILE", "The file to compare with; `--update` writes it"},
    {"--update", "", "", "Make the runs the new baseline instead of comparing"},
    {"--tolerance", "", "AMOUNT",
     "What may be above the baseline, as 5% or 64MiB (default: learned from the baseline's repeats); with --update it "
     "is kept in the file"},
    {"--junit", "", "FILE", "Write the checks as JUnit XML too"},
    {"--markdown", "", "FILE", "Write a summary as Markdown too"},
    {"--github", "", "", "Print annotations for GitHub Actions, and add to its job summary"},
    kJsonFlag,
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata gate --baseline memory.json --update run1.pickle run2.pickle run3.pickle",
    "memstrata gate --baseline memory.json run.pickle",
    "memstrata gate --baseline memory.json run.pickle --tolerance 5% --junit memory.xml --github",
};

}  // namespace

const Subcommand kGate = {
    .name = "gate",
    .summary = "Does memory stay where a baseline says it was; for continuous integration",
    .description =
        "Compares captures of a program with a baseline that is kept in the repository. What may be above it is "
        "learned "
        "from the\n"
        "repeats that the baseline was made of, or given. When memory grew, the call stacks that grew are named.\n"
        "Exit status 3: above the baseline. 1: undecided (a peak that was not recorded whole, a heap that one side "
        "lacks).",
    .positional = {"RUN", "Captures of the program; with several, their means are compared", 1, kUnlimited},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunGate,
};

}  // namespace memstrata::cli
