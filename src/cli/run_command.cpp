#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "measure/run.h"
#include "report/json/run_json.h"
#include "report/text/run_text.h"

namespace memstrata::cli {
namespace {

using measure::CaptureMode;
using measure::MeasuredSession;
using measure::RunRequest;

constexpr std::string_view kDefaultFolder = "run.memstrata";
constexpr double kNsPerSecond = 1e9;

/// A positive number as "10" or "0.5"; `most` bounds it.
Result<double> PositiveNumber(std::string_view flag, const std::string& text, double most) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc{} && end == text.data() + text.size() && value > 0 && value <= most) return value;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is a number above 0 and at most {:g}.", flag, most));
}

Result<std::optional<int64_t>> Seconds(const Arguments& arguments, std::string_view flag) {
  constexpr double kMostSeconds = 1e8;  // three years
  const std::optional<std::string> text = arguments.Get(flag);
  if (!text) return std::optional<int64_t>{};
  MEMSTRATA_ASSIGN_OR_RETURN(const double seconds, PositiveNumber(flag, *text, kMostSeconds));
  return std::optional<int64_t>(static_cast<int64_t>(seconds * kNsPerSecond));
}

CaptureMode ModeOf(const Arguments& arguments) {
  const std::string name = arguments.Get("--mode").value_or("python");
  for (size_t i = 0; i < std::size(measure::kCaptureModeNames); ++i) {
    if (name == measure::kCaptureModeNames[i]) return static_cast<CaptureMode>(i);
  }
  return CaptureMode::kPython;  // the parser knows no other name
}

Result<RunRequest> RequestOf(const Arguments& arguments) {
  if (arguments.command.empty())
    return Fail(ErrorCode::kInvalidArgument, "Say what to run: memstrata run -- python train.py");
  RunRequest request;
  request.commands = {arguments.command};
  request.folder = arguments.Get("--output").value_or(std::string(kDefaultFolder));
  request.mode = ModeOf(arguments);
  if (const std::optional<std::string> rate = arguments.Get("--rate")) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.sample_rate_hz, PositiveNumber("--rate", *rate, measure::kHighestRateHz));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(request.timeout_ns, Seconds(arguments, "--timeout"));
  MEMSTRATA_ASSIGN_OR_RETURN(request.most_entries, arguments.GetUnsigned("--max-entries"));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<int64_t> save_every_ns, Seconds(arguments, "--save-every"));
  request.save_every_ns = save_every_ns.value_or(request.save_every_ns);
  if (arguments.Has("--json")) request.stdout_descriptor = STDERR_FILENO;
  return request;
}

Result<int> RunAndPrint(const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(const RunRequest request, RequestOf(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(const MeasuredSession session, MeasureRun(request));
  const measure::RunPeaks peaks = FindPeaks(session);
  if (arguments.Has("--json")) {
    MEMSTRATA_TRY(console.out().Write(RunJson(session, peaks)));
  } else if (!arguments.Has("--quiet")) {
    console.Block(RunText(session, peaks, {false, console.width()}));
  }
  return session.commands.front().exit_status;
}

int RunRun(const Arguments& arguments, Console& console) {
  return console.Finish(RunAndPrint(arguments, console), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    {"--output", "-o", "FOLDER", "Where the session goes, NAME.memstrata (default run.memstrata)"},
    {"--mode", "", "MODE", "What frameworks record of each allocation (default python)", measure::kCaptureModeNames},
    {"--max-entries", "", "N", "Newest events that a framework keeps, for each device"},
    {"--save-every", "", "SECONDS", "Write the recording so far this often (default 60)"},
    {"--rate", "", "HZ", "Samples of devices and host a second (default 10, at most 1000)"},
    {"--timeout", "", "SECONDS", "End the program after this time: SIGTERM, ten seconds later SIGKILL"},
    kJsonFlag,
    {"--quiet", "-q", "", "No summary on standard error"},
};
constexpr std::string_view kExamples[] = {
    "memstrata run -- python train.py",
    "memstrata run -o job.memstrata --rate 20 -- torchrun --nproc-per-node 8 train.py",
    "memstrata run --mode off --timeout 600 --json -- ./server --port 8000",
};

}  // namespace

const Subcommand kRun = {
    .name = "run",
    .summary = "Run a program as it is and record where its memory goes, beside what the device says",
    .description =
        "Runs the program with the frameworks' own recorders switched on, samples each device and the host on the same "
        "clock,\n"
        "and leaves a session folder that every verb opens. The program is not changed; child processes and ranks are "
        "followed,\n"
        "signals are forwarded. Exit status: the program's.",
    .positional = {},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunRun,
    .takes_command = true,
};

}  // namespace memstrata::cli
