#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>

#include "accept/spec_writer.h"
#include "base/json_writer.h"
#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/plan_calibrate.h"
#include "cli/plan_dryrun.h"
#include "cli/verbs.h"
#include "plan/plan.h"
#include "plan/plan_grid.h"
#include "plan/ranking.h"
#include "plan/report/plan_report.h"
#include "plan/request_file.h"
#include "query/plan_residuals.h"
#include "readers/reader.h"
#include "report/html/plan_page.h"
#include "report/json/plan_residuals_json.h"

namespace memstrata::cli {
namespace {

using plan::Card;
using plan::Plan;
using plan::PlanRequest;

Result<std::vector<Card>> CardsOf(const plan::RequestTexts& texts, const Arguments& arguments) {
  std::vector<Card> cards;
  for (const std::string& name : texts.cards) {
    if (name == "all") return plan::BuiltInCards();
    MEMSTRATA_ASSIGN_OR_RETURN(Card card, plan::FindCard(name));
    cards.push_back(std::move(card));
  }
  if (cards.empty() && arguments.Has("--sheet")) return plan::BuiltInCards();
  return cards;
}

// What runs such a workload; the user puts the own program in its place.
accept::Command CommandOf(const plan::Workload& workload) {
  if (workload.task == plan::Task::kTrain) return {"python", "train.py"};
  if (workload.task != plan::Task::kServe) return {"python", "run.py"};
  if (workload.engine == plan::Engine::kVllm) {
    return {"vllm",        "bench",      "throughput",    "--model",      "MODEL",
            "--input-len", "{sequence}", "--num-prompts", "{concurrency}"};
  }
  return {"python", "serve.py"};
}

// The limits of an acceptance: the high figures of the worst device. The sizes of the workload become parameters, and
// the largest that may be used.
accept::SpecDraft DraftOf(const Plan& plan) {
  const plan::DevicePlan& worst = plan.WorstDevice();
  accept::SpecDraft draft;
  draft.name = plan.model.name;
  draft.source = "The limits are the high figures of `memstrata plan`.";
  const bool serves = plan.workload.task == plan::Task::kServe;
  draft.maximum = {
      {serves ? "concurrency" : "batch", static_cast<double>(serves ? plan.workload.concurrency : plan.workload.batch)},
      {"sequence", static_cast<double>(plan.workload.sequence)}};
  for (const auto& [name, value] : draft.maximum) draft.parameters[name] = fmt::format("{:.0f}", value);
  uint64_t device_peak_bytes = worst.high_bytes;
  uint64_t framework_peak_bytes = std::max(worst.framework_peak_high_bytes, worst.framework_reserved_bytes);
  if (plan.target && TakesShare(plan.workload)) {  // the engine takes its share, whatever the sessions need of it
    device_peak_bytes = plan.target->usable_bytes;
    for (const plan::Line& line : worst.lines) device_peak_bytes += line.term == "graphs" ? line.high_bytes : 0;
    framework_peak_bytes = device_peak_bytes;
  }
  if (plan.target) {  // a limit above what the card has could not fail
    device_peak_bytes = std::min(device_peak_bytes, plan.target->card.visible_bytes);
    framework_peak_bytes = std::min(framework_peak_bytes, plan.target->card.visible_bytes);
  }
  draft.command = CommandOf(plan.workload);
  uint64_t host_peak_bytes = 0;
  for (const plan::Line& line : plan.host_lines) host_peak_bytes += line.high_bytes;
  draft.device_peak_bytes = device_peak_bytes;
  draft.framework_peak_bytes = framework_peak_bytes;
  draft.host_peak_bytes = host_peak_bytes;
  if (plan.target) draft.capacity_bytes = plan.target->card.visible_bytes;
  return draft;
}

int Answer(const std::vector<Plan>& plans) {
  const bool any_fits = std::any_of(plans.begin(), plans.end(), [](const Plan& plan) { return plan.fits != false; });
  return any_fits ? kExitOk : kExitAnswerNo;
}

// The plan of what a recording shows, beside it.
Result<int> PlanFrom(PlanRequest request, const std::vector<Card>& cards, const std::string& path,
                     const Arguments& arguments, Console& console) {
  PlanFromRecording answer;
  answer.recording = path;
  MEMSTRATA_ASSIGN_OR_RETURN(answer.peak, MeasureRecording(path, console));
  if (!cards.empty()) request.card = cards.front();
  answer.filled = FillFromRecording(answer.peak, request);
  MEMSTRATA_ASSIGN_OR_RETURN(answer.plan, plan::MakePlan(request));
  for (const auto& [input, value] : answer.filled) answer.plan.workload.given.erase(input);  // nobody gave them
  MEMSTRATA_TRY(console.out().Write(arguments.Has("--json")
                                        ? PlanFromRecordingJson(answer)
                                        : plan::PlanText(answer.plan) + PlanFromRecordingText(answer)));
  return answer.plan.fits == false ? kExitAnswerNo : kExitOk;
}

Result<std::string> Render(const Arguments& arguments, const PlanRequest& request, const std::vector<Plan>& plans) {
  const bool json = arguments.Has("--json");
  JsonWriter writer;
  if (const std::optional<std::string> specification = arguments.Get("--sweep")) {
    PlanRequest swept = request;
    if (plans.front().target) swept.card = plans.front().target->card;
    MEMSTRATA_ASSIGN_OR_RETURN(const plan::Sweep sweep, plan::RunSweep(swept, *specification));
    if (!json) return plan::SweepText(sweep);
    plan::WriteSweepJson(sweep, writer);
    return writer.Finish();
  }
  if (json) {
    plan::WritePlanJson(plans.front(), writer);
    return writer.Finish();
  }
  if (arguments.Has("--sheet")) return plan::SheetText(plans);
  if (plans.size() > 1) return plan::RankingText(plans) + "\nOn the first of them:\n\n" + plan::PlanText(plans.front());
  return plan::PlanText(plans.front());
}

// What is tried, once that takes longer than people wait without a word.
std::function<void(std::string_view)> ProgressOf(Console& console) {
  const auto begin = std::chrono::steady_clock::now();
  return [&console, begin](std::string_view what) {
    constexpr std::chrono::seconds kPatience{1};
    if (std::chrono::steady_clock::now() - begin > kPatience) console.Progress(fmt::format("planning: {}", what));
  };
}

Result<int> PlanAndPrint(const Arguments& arguments, Console& console) {
  if (!arguments.positionals.empty() && arguments.positionals.front() == "calibrate")
    return CalibratePlan(arguments, console);
  if (arguments.positionals.size() > 1) return Fail(ErrorCode::kInvalidArgument, "Give one request file.");
  const std::string file = arguments.positionals.empty() ? "" : arguments.positionals.front();
  MEMSTRATA_ASSIGN_OR_RETURN(const plan::RequestTexts texts, PlanTextsOf(arguments, file));
  MEMSTRATA_ASSIGN_OR_RETURN(PlanRequest request, plan::MakeRequest(texts, plan::FileUse::kRead));
  MEMSTRATA_ASSIGN_OR_RETURN(request.profile, PlanProfileOf(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(texts, arguments));
  if (const std::optional<std::string> path = arguments.Get("--from"))
    return PlanFrom(request, cards, *path, arguments, console);
  if (arguments.Has("--dryrun")) return CompareWithDryRun(request, cards, arguments, console);
  request.progress = ProgressOf(console);
  std::vector<Plan> plans;
  if (cards.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(Plan plan, plan::MakePlan(request));
    plans.push_back(std::move(plan));
  } else {
    MEMSTRATA_ASSIGN_OR_RETURN(plans, plan::RankCards(request, cards));
  }
  if (const std::optional<std::string> path = arguments.Get("--acceptance")) {
    MEMSTRATA_TRY(WriteWhole(*path, accept::SpecToml(DraftOf(plans.front()))));
  }
  if (const std::optional<std::string> path = arguments.Get("--output")) {
    PlanRequest shown = request;
    if (plans.front().target) shown.card = plans.front().target->card;
    MEMSTRATA_ASSIGN_OR_RETURN(const plan::PlanGrid grid, plan::MakeGrid(shown));
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string page, PlanPage(grid, MEMSTRATA_VERSION));
    MEMSTRATA_TRY(WriteWhole(*path, page));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, Render(arguments, request, plans));
  console.ClearProgress();
  MEMSTRATA_TRY(console.out().Write(text));
  return Answer(plans);
}

int RunPlan(const Arguments& arguments, Console& console) {
  return console.Finish(PlanAndPrint(arguments, console), arguments.Has("--json"));
}

constexpr FlagSpec kOwnFlags[] = {
    {"--model", "", "MODEL",
     "config.json, a .safetensors or .gguf file, a built-in name, or \"layers=32 hidden=4096 heads=32 …\""},
    {"--draft", "", "MODEL", "Serving: the model that proposes tokens (speculative decoding), as --model takes it"},
    {"--parameters", "", "COUNT", "Only a number of parameters, as 7e9: weights alone, a floor"},
    {"--card", "", "CARD", "A card by name, a capacity as 80GiB, or all; may be repeated", {}, true},
    {"--sweep", "", "NAME=VALUES", "The plan over values of one input, as batch=1..64 or precision=fp32,bf16"},
    {"--from", "", "FILE", "Take what a recording tells of the workload, and print each term beside what was measured"},
    {"--profile", "", "FILE", "Correct the plan by a profile that `plan calibrate` wrote"},
    {"--engine-version", "", "TEXT", "With calibrate: the version of the engine that ran"},
    {"--sheet", "", "", "Print the purchase sheet"},
    {"--output", "-o", "FILE",
     "Also write a page to FILE (HTML) with sliders and a stacked bar for each device; with calibrate: the profile "
     "(TOML)"},
    {"--acceptance", "", "FILE", "Also write the limits of an acceptance run to FILE (TOML)"},
    {"--dryrun", "", "", "Run the same model with real PyTorch on a simulated card, and compare term by term"},
    {"--python", "", "PATH", "With --dryrun: the interpreter that has PyTorch and transformers (default python3)"},
    {"--json", "", "", "Print one JSON object instead of text"},
};

constexpr size_t kInputCount = std::size(plan::kWorkloadInputs);
constexpr auto kFlags = [] {
  std::array<FlagSpec, std::size(kOwnFlags) + kInputCount> flags{};
  std::copy(std::begin(kOwnFlags), std::end(kOwnFlags), flags.begin());
  for (size_t i = 0; i < kInputCount; ++i) {
    const plan::InputHelp& input = plan::kWorkloadInputs[i];
    flags[std::size(kOwnFlags) + i] = {input.flag, "", input.value_name, input.help, {}, input.flag == "--asset"};
  }
  return flags;
}();

constexpr std::string_view kExamples[] = {
    "memstrata plan --model config.json --batch 2 --sequence 8192 --optimizer adamw --card h100-80g",
    "memstrata plan --model llama-3.1-8b --task serve --engine vllm --sequence 8192 --concurrency 32 --card l40s",
    "memstrata plan --model llama-3.1-8b --engine megatron --parallel tp=4,dp=2,zero=1 --card all",
    "memstrata plan --model gpt2 --precision bf16_autocast --sweep batch=1..64 --card rtx4090",
    "memstrata plan --parameters 7e9 --precision bf16",
    "memstrata plan calibrate step.pickle --model config.json --batch 4 --card h100-80g -o profile.toml",
    "memstrata plan --model gpt2 --batch 8 --sequence 1024 --dryrun --python dry/bin/python",
};

}  // namespace

const Subcommand kPlan = {
    .name = "plan",
    .summary = "What a model and a workload will need, term by term, and on which cards it fits",
    .description =
        "Prints the memory budget of each device with its bounds, the formula and the source of every line, whether it "
        "fits on a card,\n"
        "the largest batch and sequence that do, and what to change first. No device is needed.\n"
        "Exit status 3: it does not fit.",
    .positional = {"REQUEST",
                   "A TOML or YAML file with `model`, `draft`, `card` and the inputs below; flags win over it. Or "
                   "`calibrate` and "
                   "SESSION…: recordings, or request files with `recording`",
                   0, kUnlimited},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunPlan,
};

}  // namespace memstrata::cli
