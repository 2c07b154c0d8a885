#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "accept/acceptance.h"
#include "accept/entry_command.h"
#include "accept/session_figures.h"
#include "accept/spec_writer.h"
#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/verbs.h"
#include "cli/verdict_status.h"
#include "measure/replaced_folder.h"
#include "plan/request_file.h"
#include "report/ci/junit.h"
#include "report/json/accept_json.h"
#include "report/markdown/accept_markdown.h"
#include "report/text/accept_text.h"

namespace memstrata::data {
extern const std::string_view kAcceptanceSchema;
}  // namespace memstrata::data

namespace memstrata::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSpecBytes = size_t{4} << 20;
constexpr std::string_view kDefaultFolder = "acceptance";
constexpr std::string_view kMarker = "accept.json";  // a folder with it is one of ours, and may be replaced

// One that holds something else is left alone.
Status CheckReplaceable(const fs::path& folder) {
  std::error_code problem;
  if (!fs::exists(folder, problem) || fs::is_empty(folder, problem) || fs::exists(folder / kMarker, problem)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" exists and is not of an acceptance; name another place with -o.", folder.string()));
}

// Replaced by the answer; marks one that was cut off.
Status WriteMarker(const fs::path& folder) { return WriteWhole((folder / kMarker).string(), "{}\n"); }

// The folder of one combination of a sweep, in that of the acceptance.
Status MakeFolder(const fs::path& folder) {
  std::error_code problem;
  fs::create_directory(folder, problem);
  if (!problem) fs::permissions(folder, fs::perms::owner_all, problem);
  if (!problem) return WriteMarker(folder);
  return tl::unexpected(
      Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", problem.message()), folder.string(), {}});
}

Result<accept::Spec> ReadSpec(const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, plan::ReadSmallFile(path, kMostSpecBytes));
  Result<accept::Spec> spec = accept::ParseSpec(text);
  if (!spec) {
    Error error = spec.error();
    error.file = path;
    return tl::unexpected(std::move(error));
  }
  return spec;
}

// The first command that others do not only run beside; of an acceptance the function that it called.
void AddWorkload(const measure::MeasuredSession& session, accept::SpecDraft& draft) {
  const auto found = std::find_if(session.commands.begin(), session.commands.end(),
                                  [](const measure::CommandRun& run) { return !run.is_beside; });
  if (found == session.commands.end()) return;
  draft.command = found->command;
  if (const std::optional<accept::EntryCall> call = accept::ParseEntryCommand(found->command)) {
    draft.entry = call->function;
    draft.python = call->python;
    draft.parameters = call->parameters;
    draft.warmup_count = call->warmup_count;
    draft.iteration_count = call->iteration_count;
  }
}

// What makes the session a bad model of what will be run.
void AddRemarks(const accept::RepeatFigures& figures, accept::SpecDraft& draft) {
  if (figures.was_interrupted) draft.remarks.emplace_back("The session was interrupted: its figures are too low.");
  if (figures.error_count > 0)
    draft.remarks.push_back("The session had an error: its figures may be too low. " + figures.error_text);
  const auto add = [&draft](std::string_view name, const accept::Measured& measured) {
    if (measured.value && measured.is_lower_bound)
      draft.remarks.push_back(fmt::format("{} is a lower bound, and so is its limit: {}", name, measured.basis));
  };
  for (const accept::DeviceFigures& device : figures.devices) {
    add("device_peak", device.used_bytes);
    add("framework_peak", device.framework_bytes);
  }
  add("host_peak", figures.host_bytes);
}

// Drafts a specification from a measured session.
Result<int> Init(const Arguments& arguments, Console& console) {
  const std::string session_folder = *arguments.Get("--init");
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(session_folder));
  const accept::RepeatFigures figures = accept::FiguresOfSession(session);
  accept::SpecDraft draft;
  draft.name = fs::path(session_folder).stem().string();
  draft.source = "The limits are what the session took, and 2 % more; of its time twice as much.";
  AddWorkload(session, draft);
  AddRemarks(figures, draft);
  draft.environment = session.variables;
  const auto raise = [](std::optional<uint64_t>& highest, const accept::Measured& measured) {
    if (measured.value)
      highest = std::max(highest.value_or(0), static_cast<uint64_t>(*measured.value * (1 + accept::kAssumedFraction)));
  };
  for (const accept::DeviceFigures& device : figures.devices) {
    raise(draft.device_peak_bytes, device.used_bytes);
    raise(draft.framework_peak_bytes, device.framework_bytes);
  }
  raise(draft.host_peak_bytes, figures.host_bytes);
  // Time scatters more than memory: twice as much is a limit that notices a hang and no busy machine.
  if (figures.run_time_s.value) draft.run_time_s = 2 * *figures.run_time_s.value;
  const std::string toml = accept::SpecToml(draft);
  const std::optional<std::string> path = arguments.Get("--output");
  if (path) {
    std::error_code ignored;
    if (fs::is_regular_file(*path, ignored))
      return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" exists; name another file with -o.", *path));
    MEMSTRATA_TRY(WriteWhole(*path, toml));
  } else {
    MEMSTRATA_TRY(console.out().Write(toml));
  }
  return kExitOk;
}

// Which combination of a sweep is the answer: that of the given parameters; where a swept one is not given, the first
// that reaches the declared maximum; else the first. The worst verdict of a sweep is not its answer.
size_t AnswerOf(const accept::Spec& spec, const std::vector<std::map<std::string, std::string>>& combinations) {
  const auto find = [&](const auto& is_it) {
    return static_cast<size_t>(std::find_if(combinations.begin(), combinations.end(), is_it) - combinations.begin());
  };
  const size_t given =
      find([&](const auto& one) { return accept::WithParameters(spec, one).parameters == spec.parameters; });
  if (given < combinations.size()) return given;
  const size_t whole =
      find([&](const auto& one) { return accept::CoverageGaps(accept::WithParameters(spec, one)).empty(); });
  return whole < combinations.size() ? whole : 0;
}

// A parameter that only the sweep gives has no value without it.
Status CheckGiven(const accept::Spec& spec) {
  for (const auto& [name, values] : spec.sweep) {
    if (!spec.parameters.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("parameters.{} is not given; --sweep runs the values of sweep.{}.", name, name));
    }
  }
  return {};
}

// The specification as it stands, or every combination of its sweep.
Result<accept::Acceptance> RunAll(const accept::Spec& spec, const Arguments& arguments, const std::string& folder,
                                  std::vector<accept::SweepRow>& rows, Console& console) {
  const auto progress = [&](std::string_view text) { console.Progress(text); };
  if (!arguments.Has("--sweep")) {
    MEMSTRATA_TRY(CheckGiven(spec));
    return accept::Accept(spec, folder, progress);
  }
  const auto combinations = accept::Combinations(spec);
  if (spec.sweep.empty()) return Fail(ErrorCode::kInvalidArgument, "The specification has no [sweep].");
  std::optional<accept::Acceptance> answer;
  const size_t answer_index = AnswerOf(spec, combinations);
  for (size_t i = 0; i < combinations.size(); ++i) {
    const accept::Spec one = accept::WithParameters(spec, combinations[i]);
    const std::string place = fmt::format("{}/sweep{}", folder, i + 1);
    MEMSTRATA_TRY(MakeFolder(place));
    MEMSTRATA_ASSIGN_OR_RETURN(accept::Acceptance acceptance, accept::Accept(one, place, progress));
    MEMSTRATA_TRY(WriteWhole(place + "/" + std::string(kMarker), AcceptJson(acceptance, {})));
    rows.push_back(accept::RowOf(combinations[i], acceptance));
    const bool was_interrupted = acceptance.repeats.back().was_interrupted;
    if (!answer || i == answer_index) answer = std::move(acceptance);
    if (was_interrupted) break;
  }
  accept::MarkPareto(rows, !spec.quality.maximum.has_value());
  return *std::move(answer);
}

std::vector<JudgedTest> TestsOf(const accept::Acceptance& acceptance) {
  std::vector<JudgedTest> tests;
  for (const accept::Check& check : acceptance.checks)
    tests.push_back({"accept", check.name, check.verdict, check.text, ""});
  return tests;
}

Status Print(const Arguments& arguments, const accept::Acceptance& acceptance,
             const std::vector<accept::SweepRow>& rows, const std::string& folder, Console& console) {
  const std::string json = AcceptJson(acceptance, rows);
  MEMSTRATA_TRY(WriteWhole(folder + "/" + std::string(kMarker), json));
  MEMSTRATA_TRY(WriteWhole(folder + "/accept.md", AcceptMarkdown(acceptance, rows)));
  if (const std::optional<std::string> path = arguments.Get("--junit")) {
    StringSink sink;
    MEMSTRATA_TRY(WriteJunit("memstrata accept", TestsOf(acceptance), sink));
    MEMSTRATA_TRY(WriteWhole(*path, sink.text()));
  }
  if (arguments.Has("--json")) return console.out().Write(json);
  MEMSTRATA_TRY(WriteAcceptText(acceptance, rows, {console.use_color(), console.width()}, console.out()));
  return console.out().Write(fmt::format("\nWritten to {}\n", folder));
}

Result<int> AcceptOrInit(const Arguments& arguments, Console& console) {
  if (arguments.Has("--schema")) {
    MEMSTRATA_TRY(console.out().Write(data::kAcceptanceSchema));
    return kExitOk;
  }
  if (arguments.Has("--init")) return Init(arguments, console);
  if (arguments.positionals.size() != 1)
    return Fail(ErrorCode::kInvalidArgument, "Give one specification: memstrata accept acceptance.toml");
  MEMSTRATA_ASSIGN_OR_RETURN(const accept::Spec spec, ReadSpec(arguments.positionals.front()));
  const std::string folder = arguments.Get("--output").value_or(std::string(kDefaultFolder));
  MEMSTRATA_TRY(CheckReplaceable(folder));
  measure::ReplacedFolder place(folder);  // an earlier acceptance outlives a workload that cannot be started
  MEMSTRATA_TRY(place.Make());
  MEMSTRATA_TRY(WriteMarker(folder));
  std::vector<accept::SweepRow> rows;
  Result<accept::Acceptance> ran = RunAll(spec, arguments, folder, rows, console);
  // A program that is not there makes the specification wrong: nothing was tried, so nothing is undecided.
  if (!ran && ran.error().code == ErrorCode::kNotFound) ran.error().code = ErrorCode::kInvalidArgument;
  MEMSTRATA_ASSIGN_OR_RETURN(accept::Acceptance acceptance, std::move(ran));
  place.Keep();
  console.ClearProgress();
  acceptance.identity.program_version = MEMSTRATA_VERSION;
  if (arguments.Has("--redact")) {
    accept::RedactAcceptance(acceptance);
    for (accept::SweepRow& row : rows) accept::RedactParameters(row.parameters);
  }
  MEMSTRATA_TRY(Print(arguments, acceptance, rows, folder, console));
  return ExitStatusOf(acceptance.verdict);
}

int RunAccept(const Arguments& arguments, Console& console) {
  return console.Finish(AcceptOrInit(arguments, console), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    {"--init", "", "SESSION", "Write a first specification from a session of `memstrata run`"},
    {"--schema", "", "", "Print the JSON Schema of specifications"},
    {"--sweep", "", "", "Run every combination of the values in [sweep], and compare them"},
    {"--output", "-o", "PATH", "The folder for sessions and report (default acceptance); with --init the file"},
    {"--redact", "", "",
     "Leave folders, inputs, the command, the system, texts of parameters and programs out of the report"},
    {"--junit", "", "FILE", "Write the checks as JUnit XML too"},
    kJsonFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata accept acceptance.toml",
    "memstrata accept acceptance.toml --sweep --json",
    "memstrata accept --init run.memstrata -o acceptance.toml",
};

}  // namespace

const Subcommand kAccept = {
    .name = "accept",
    .summary = "Run a workload as it will be used, and judge memory, time, errors and quality together",
    .description =
        "Runs the workload of a specification in fresh processes, several times, and compares what it took with the "
        "limits. A figure\n"
        "that was not measured well enough never passes: it is undecided.\n"
        "Exit status 0: accepted. 3: not accepted. 1: undecided, or an error.",
    .positional = {"SPEC", "A TOML file (docs/reference/accept.md)", 0, 1},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunAccept,
};

}  // namespace memstrata::cli
