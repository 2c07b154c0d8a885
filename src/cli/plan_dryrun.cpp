#include "cli/plan_dryrun.h"

#include <filesystem>

#include "dryrun/plan_comparison.h"
#include "dryrun/wheel.h"
#include "plan/request_file.h"
#include "report/json/plan_comparison_json.h"
#include "report/text/plan_comparison_text.h"

namespace memstrata::cli {
namespace {

using dryrun::PlanComparison;
using dryrun::Stage;
using dryrun::Verdict;

constexpr std::string_view kDefaultCard = "h100-80g";
constexpr std::string_view kDefaultInterpreter = "python3";

// The path of the model's config.json, or the text of a built-in one.
Result<std::string> ConfigOf(const Arguments& arguments) {
  std::string model = arguments.Get("--model").value_or("");
  if (model.empty() && !arguments.positionals.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(const plan::RequestTexts file, plan::ReadRequestFile(arguments.positionals.front()));
    model = file.model;
  }
  if (model.ends_with(".json") && !model.ends_with(".index.json")) return std::filesystem::absolute(model).string();
  Result<std::string> config = plan::PresetConfig(model);
  if (config) return config;
  return Fail(ErrorCode::kInvalidArgument,
              "--dryrun builds the model from its config.json or a built-in name; it needs --model as one of these.");
}

Result<plan::Card> CardOf(const std::vector<plan::Card>& cards) {
  if (cards.size() > 1) return Fail(ErrorCode::kInvalidArgument, "--dryrun takes one card.");
  if (cards.empty()) return plan::FindCard(kDefaultCard);
  if (cards.front().vendor == "nvidia") return cards.front();
  return Fail(ErrorCode::kInvalidArgument, "--dryrun runs on a card of NVIDIA; name one, as h100-80g.");
}

Result<PlanComparison> Compare(plan::PlanRequest request, const Arguments& arguments) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string config, ConfigOf(arguments));
  const std::string interpreter = arguments.Get("--python").value_or(std::string(kDefaultInterpreter));
  MEMSTRATA_ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(request));
  request.workload = plan.workload;  // with the defaults that depend on the model
  MEMSTRATA_ASSIGN_OR_RETURN(const dryrun::DryRunRequest dry_run, dryrun::RequestOfPlan(request, config, interpreter));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> answered, dryrun::AnsweredFunctions());
  MEMSTRATA_ASSIGN_OR_RETURN(const dryrun::Wheel wheel, dryrun::ProbeWheel(interpreter, answered));
  MEMSTRATA_ASSIGN_OR_RETURN(const Stage stage, Stage::Create(dry_run, wheel));
  return ComparePlan(std::move(plan), dry_run, stage);
}

}  // namespace

Result<int> CompareWithDryRun(plan::PlanRequest request, const std::vector<plan::Card>& cards,
                              const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(request.card, CardOf(cards));
  request = plan::TrialOf(request);
  MEMSTRATA_ASSIGN_OR_RETURN(const PlanComparison comparison, Compare(request, arguments));
  const Verdict verdict = comparison.run.verdict();
  if (verdict != Verdict::kFits && verdict != Verdict::kDoesNotFit) {
    return Fail(ErrorCode::kInvalidArgument,
                "The model could not be run; its own message is above. The interpreter (--python) needs a CUDA build "
                "of PyTorch and transformers 4.56 or later, and transformers must know the model.");
  }
  const TextStyle style = {console.use_color(), console.width()};
  MEMSTRATA_TRY(console.out().Write(arguments.Has("--json") ? PlanComparisonJson(comparison)
                                                            : PlanComparisonText(comparison, style)));
  return verdict == Verdict::kFits ? kExitOk : kExitAnswerNo;
}

}  // namespace memstrata::cli
