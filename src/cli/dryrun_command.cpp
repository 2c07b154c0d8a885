#include <fmt/format.h>

#include <filesystem>

#include "base/units.h"
#include "cli/common_flags.h"
#include "cli/dryrun_jax.h"
#include "cli/verbs.h"
#include "dryrun/answer.h"
#include "dryrun/session_folder.h"
#include "plan/workload.h"
#include "query/explain.h"
#include "report/json/dryrun_json.h"
#include "report/text/dryrun_text.h"

namespace memstrata::cli {
namespace {

using dryrun::DryRun;
using dryrun::DryRunAnswer;
using dryrun::DryRunRequest;
using dryrun::Parameter;
using dryrun::Stage;
using dryrun::Verdict;

constexpr std::string_view kDefaultCard = "h100-80g";
constexpr std::string_view kDefaultFolder = "dryrun.memstrata";
constexpr uint64_t kMostDevices = 64;
constexpr uint64_t kMostRanks = 1'000'000;

Result<uint64_t> Bounded(const Arguments& arguments, std::string_view flag, uint64_t fallback, uint64_t most) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> value, arguments.GetUnsigned(flag));
  if (value.value_or(fallback) > most)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is at most {}.", flag, most));
  return value.value_or(fallback);
}

Result<plan::Card> FindNvidiaCard(std::string_view name) {
  std::string known;
  for (const plan::Card& card : plan::BuiltInCards()) {
    if (card.vendor != "nvidia") continue;
    if (card.id == name || card.name == name) return card;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", card.id);
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a card that CUDA programs run on. Known are {}; another size is --capacity.",
                          name, known));
}

Result<plan::Card> CardOf(const Arguments& arguments) {
  MEMSTRATA_ASSIGN_OR_RETURN(plan::Card card,
                             FindNvidiaCard(arguments.Get("--card").value_or(std::string(kDefaultCard))));
  if (const std::optional<std::string> capacity = arguments.Get("--capacity")) {
    MEMSTRATA_ASSIGN_OR_RETURN(card.visible_bytes, plan::ParseBytes(*capacity));
  }
  if (card.visible_bytes <= card.context_bytes) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("A card of {} is smaller than the {} that the driver takes on it; a size has a unit, as "
                            "24GiB.",
                            FormatBytes(card.visible_bytes), FormatBytes(card.context_bytes)));
  }
  return card;
}

Status CheckJaxFlags(const Arguments& arguments) {
  for (const std::string_view flag : {"--topology", "--platform"}) {
    if (arguments.Has(flag)) return Fail(ErrorCode::kInvalidArgument, fmt::format("{} goes with --jax.", flag));
  }
  return {};
}

Result<DryRunRequest> RequestOf(const Arguments& arguments) {
  MEMSTRATA_TRY(CheckJaxFlags(arguments));
  if (arguments.command.empty())
    return Fail(ErrorCode::kInvalidArgument, "Say what to run: memstrata dryrun -- python train.py");
  DryRunRequest request;
  request.command = arguments.command;
  const std::string& program = request.command.front();
  std::error_code ignored;
  if (program.find('/') != std::string::npos && !std::filesystem::exists(program, ignored))
    return Fail(ErrorCode::kNotFound, fmt::format("\"{}\" cannot be started: it does not exist.", program));
  MEMSTRATA_ASSIGN_OR_RETURN(request.card, CardOf(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t devices, Bounded(arguments, "--devices", 1, kMostDevices));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t world, Bounded(arguments, "--world", 1, kMostRanks));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t rank, Bounded(arguments, "--rank", 0, kMostRanks));
  MEMSTRATA_ASSIGN_OR_RETURN(request.step_count, Bounded(arguments, "--steps", 0, UINT64_MAX));
  MEMSTRATA_ASSIGN_OR_RETURN(request.true_after, Bounded(arguments, "--true-after", 0, UINT64_MAX));
  if (const std::optional<std::string> size = arguments.Get("--convolution-workspace")) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.convolution_workspace_bytes, plan::ParseBytes(*size));
  }
  if (arguments.Has("--steps") && request.step_count == 0)
    return Fail(ErrorCode::kInvalidArgument, "--steps is at least 1; without it the program runs to its end.");
  if (devices == 0 || world == 0 || rank >= world)
    return Fail(ErrorCode::kInvalidArgument, "--devices and --world are at least 1, and --rank is below --world.");
  request.device_count = static_cast<uint32_t>(devices);
  request.world_size = static_cast<uint32_t>(world);
  request.rank = static_cast<uint32_t>(rank);
  request.expandable_segments = arguments.Has("--expandable");
  request.shadow = arguments.Has("--shadow") || world > 1 || devices > 1;  // ranks compare what they broadcast
  request.keeps_arguments = arguments.Has("--arguments");
  request.output_to_stderr = arguments.Has("--json");
  request.interpreter = arguments.Get("--python").value_or(dryrun::InterpreterOf(request.command));
  return request;
}

Result<std::optional<Parameter>> ParameterOf(const Arguments& arguments) {
  const std::optional<std::string> variable = arguments.Get("--find");
  const std::optional<std::string> argument = arguments.Get("--find-arg");
  if (variable && argument) return Fail(ErrorCode::kInvalidArgument, "Give --find or --find-arg, not both.");
  if (!variable && !argument && arguments.Has("--sweep"))
    return Fail(ErrorCode::kInvalidArgument, "--sweep runs the values of --find or --find-arg; give one of them.");
  if (!variable && !argument) return std::optional<Parameter>{};
  MEMSTRATA_ASSIGN_OR_RETURN(Parameter parameter,
                             dryrun::ParseParameter(variable ? *variable : *argument, variable.has_value()));
  return std::optional<Parameter>(std::move(parameter));
}

// Runs the program once, or for each value of a search. The stage then holds the records of the last run; the snapshot
// that is kept is of the largest value that fits, so that one runs once more if it was not the last.
Status RunAll(const Arguments& arguments, const std::optional<Parameter>& parameter, DryRunAnswer& answer,
              const Stage& stage, Console& console) {
  if (!parameter) {
    MEMSTRATA_ASSIGN_OR_RETURN(answer.run, RunOnce(answer.request, stage));
    return {};
  }
  const auto run_value = [&](uint64_t value) -> Result<DryRun> {
    MEMSTRATA_ASSIGN_OR_RETURN(const DryRunRequest changed, WithValue(answer.request, *parameter, value));
    console.Progress(fmt::format("with {}", value));
    return RunOnce(changed, stage);
  };
  MEMSTRATA_ASSIGN_OR_RETURN(
      answer.search, arguments.Has("--sweep") ? Sweep(*parameter, run_value) : FindLargest(*parameter, run_value));
  console.ClearProgress();
  const uint64_t last = answer.search->trials.back().value;
  const uint64_t kept = answer.search->largest.value_or(last);
  if (kept == last) {
    answer.run = answer.search->trials.back().run;
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(answer.run, run_value(kept));
  return {};
}

int StatusOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
    case Verdict::kRanAfterErrors:
      return kExitOk;
    case Verdict::kDoesNotFit:
      return kExitAnswerNo;
    case Verdict::kScriptFailed:
    case Verdict::kNoRecord:
    case Verdict::kCardNotUsed:
      return kExitError;
  }
  return kExitError;
}

Status Print(const Arguments& arguments, const DryRunAnswer& answer, const std::string& json, Console& console) {
  if (arguments.Has("--json")) return console.out().Write(json);
  const TextStyle style = {console.use_color(), console.width()};
  if (answer.snapshot_path.empty()) return WriteDryRunText(answer, nullptr, style, console.out());
  Arguments snapshot;
  snapshot.positionals = {answer.snapshot_path};
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(snapshot, console));
  MEMSTRATA_ASSIGN_OR_RETURN(const ExplainAnswer explained, Explain(store, {}));
  return WriteDryRunText(answer, &explained, style, console.out());
}

Result<int> RunAndPrint(const Arguments& arguments, Console& console) {
  DryRunAnswer answer;
  MEMSTRATA_ASSIGN_OR_RETURN(answer.request, RequestOf(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<Parameter> parameter, ParameterOf(arguments));
  const std::string folder = arguments.Get("--output").value_or(std::string(kDefaultFolder));
  MEMSTRATA_TRY(dryrun::CheckReplaceable(folder));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> answered, dryrun::AnsweredFunctions());
  MEMSTRATA_ASSIGN_OR_RETURN(answer.wheel, dryrun::ProbeWheel(answer.request.interpreter, answered));
  answer.has_real_card = dryrun::HasRealCard();
  if (arguments.Has("--check")) {
    MEMSTRATA_TRY(console.out().Write(WheelText(answer.wheel, console.width())));
    MEMSTRATA_TRY(dryrun::CheckKernels(answer.wheel, answer.request.card));
    return kExitOk;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const Stage stage, Stage::Create(answer.request, answer.wheel));
  MEMSTRATA_TRY(RunAll(arguments, parameter, answer, stage, console));
  MEMSTRATA_TRY(KeepSnapshots(folder, answer));
  const std::string json = DryRunJson(answer);
  MEMSTRATA_TRY(FinishSession(answer, json));
  MEMSTRATA_TRY(Print(arguments, answer, json, console));
  return StatusOf(answer.run.verdict());
}

int RunDryRun(const Arguments& arguments, Console& console) {
  const Result<int> status = arguments.Has("--jax") ? DryRunJax(arguments, console) : RunAndPrint(arguments, console);
  return console.Finish(status, arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {
    {"--card", "", "CARD", "The card to run on (default h100-80g)"},
    {"--capacity", "", "SIZE", "Another capacity than the card's, as 24GiB"},
    {"--devices", "", "N", "Number of such cards (default 1)"},
    {"--steps", "", "N", "End the program after N optimizer steps; two reach the steady state"},
    {"--world", "", "N", "Run as one rank of a job of N processes"},
    {"--rank", "", "R", "Which rank of it (default 0)"},
    {"--find", "", "NAME=LOW..HIGH", "Find the largest value of an environment variable that fits"},
    {"--find-arg", "", "LOW..HIGH", "The same for {} in the command"},
    {"--sweep", "", "", "Run every power of two of the range instead of searching"},
    {"--expandable", "", "", "Use PyTorch's expandable segments"},
    {"--shadow", "", "", "Keep the bytes of copies to the card up to 64 KiB and deliver them when read back"},
    {"--true-after", "", "N", "Make every Nth read of one byte true, which ends loops that wait for a value"},
    {"--convolution-workspace", "", "SIZE", "What each convolution of cuDNN is assumed to need (default 0)"},
    {"--jax", "", "MODULE:FUNCTION",
     "Compile a JAX function and show XLA's plan of its memory; after -- the shapes of its arguments, as "
     "float32[8,128]"},
    {"--topology", "", "NAME",
     "With --jax: the TPUs to compile for, as v5e:2x2, which need not be here (default: the CPU)"},
    {"--platform", "", "NAME", "With --topology: the platform of its compiler (default tpu)"},
    {"--python", "", "PATH", "The interpreter whose PyTorch is checked (default: that of the command)"},
    {"--arguments", "", "", "Keep the arguments of the command in the session; they may hold secrets"},
    {"--check", "", "", "Only say what the program's PyTorch needs and what the simulated card lacks"},
    {"--output", "-o", "FOLDER",
     "Where the session goes (default dryrun.memstrata); with --jax the plan (default jax_plan.hlo_proto.pb)"},
    kJsonFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata dryrun --card a100-40g --steps 2 -- python train.py --batch 8",
    "memstrata dryrun --card rtx4090 --find-arg 1..64 -- python train.py --batch {}",
    "memstrata dryrun --card h100-80g --world 8 --steps 2 -- python train_fsdp.py",
    "memstrata dryrun --check -- python train.py",
    "memstrata dryrun --jax train:step --topology v5e:2x2 --card tpu-v5e -- 'float32[4096,4096]' 'float32[64,4096]'",
};

}  // namespace

const Subcommand kDryRun = {
    .name = "dryrun",
    .summary = "What a PyTorch or JAX program takes on a card that is not here, and whether it fits",
    .description =
        "Runs the program with the real PyTorch (a CUDA build) on a simulated card: every allocation is the true one, "
        "nothing is computed.\n"
        "The program runs on this machine, with its side effects. Allocated bytes are exact for the given program and "
        "inputs; what\n"
        "depends on computed values is a guess and is listed. x86-64 Linux only.\n"
        "With --jax, a function is compiled and not run; FUNCTION may also be one without arguments that returns "
        "(function, "
        "argument, …).\n"
        "Exit status 3: it does not fit.",
    .positional = {},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunDryRun,
    .takes_command = true,
};

}  // namespace memstrata::cli
