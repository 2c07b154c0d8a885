#include <algorithm>
#include <cmath>

#include "plan/request_file.h"
#include "plan_score.h"

namespace memstrata::bench {
namespace {

using plan::PlanRequest;

constexpr double kPhaseTie = 0.01;  // either phase counts where the two highest lie this close

const std::map<std::string, std::string, std::less<>>& CardIds() {
  static const std::map<std::string, std::string, std::less<>> kIds = {{"h100", "h100-80g"}};
  return kIds;
}

// Column of the table → input of a workload.
constexpr std::pair<std::string_view, std::string_view> kInputs[] = {{"batch", "batch"},
                                                                     {"seq", "sequence"},
                                                                     {"tgt_seq", "target-sequence"},
                                                                     {"grad_accumulation", "accumulation"},
                                                                     {"precision", "precision"},
                                                                     {"optimizer", "optimizer"},
                                                                     {"attention_mask", "mask"},
                                                                     {"new_tokens", "new-tokens"},
                                                                     {"lora_r", "lora-rank"},
                                                                     {"attn", "attention"},
                                                                     {"lora_dropout", "lora-dropout"},
                                                                     {"logits_to_keep", "logits-to-keep"}};

std::string YesNo(const std::string& text) { return text == "True" || text == "1" ? "yes" : "no"; }

Status SetInputs(const CsvRow& row, plan::Workload& workload) {
  const std::string& mode = Cell(row, "mode");
  MEMSTRATA_TRY(plan::SetInput(workload, "task",
                               mode == "train"     ? "train"
                               : mode == "forward" ? "forward"
                                                   : "generate"));
  for (const auto& [column, input] : kInputs) {
    if (!Cell(row, column).empty()) MEMSTRATA_TRY(plan::SetInput(workload, input, Cell(row, column)));
  }
  const std::string& checkpointing = Cell(row, "gradient_checkpointing");
  MEMSTRATA_TRY(plan::SetInput(workload, "recompute",
                               checkpointing == "nonreentrant" ? "full"
                               : checkpointing == "reentrant"  ? "full_reentrant"
                                                               : "none"));
  std::string targets = Cell(row, "lora_targets");
  std::replace(targets.begin(), targets.end(), '+', ',');
  if (!targets.empty()) MEMSTRATA_TRY(plan::SetInput(workload, "lora-targets", targets));
  if (!Cell(row, "use_cache").empty())
    MEMSTRATA_TRY(plan::SetInput(workload, "use-cache", YesNo(Cell(row, "use_cache"))));
  MEMSTRATA_TRY(plan::SetInput(workload, "keep-outputs", YesNo(Cell(row, "keep_outputs"))));
  MEMSTRATA_TRY(plan::SetInput(workload, "grads-to-none", YesNo(Cell(row, "zero_grad_set_to_none"))));
  return plan::SetInput(workload, "clip-gradients", YesNo(Cell(row, "grad_clip")));
}

Result<PlanRequest> RequestOf(const CsvRow& row, const std::string& folder) {
  PlanRequest request;
  request.searches_largest = request.suggests_changes = false;
  MEMSTRATA_ASSIGN_OR_RETURN(request.model, plan::DescribeAny(folder + "configs/" + Cell(row, "config") + ".json"));
  MEMSTRATA_TRY(SetInputs(row, request.workload));
  const auto id = CardIds().find(Cell(row, "card"));
  Result<plan::Card> card = plan::FindCard(id == CardIds().end() ? Cell(row, "card") : id->second);
  if (!card) card = plan::Card{};
  card->visible_bytes = static_cast<uint64_t>(NumberCell(row, "card_bytes", 0));
  card->context_bytes = static_cast<uint64_t>(NumberCell(row, "context_bytes_assumed", 0));
  request.card = *card;
  return request;
}

std::optional<uint64_t> BytesCell(const CsvRow& row, std::string_view column) {
  if (Cell(row, column).empty()) return std::nullopt;
  return static_cast<uint64_t>(NumberCell(row, column, 0));
}

bool IsPhaseRight(const plan::DevicePlan& device, const CsvRow& row) {
  const std::string& measured = Cell(row, "peak_phase");
  if (device.peak_phase == measured || (device.peak_phase == "decode" && measured == "generate")) return true;
  const std::optional<uint64_t> other = BytesCell(row, "peak_" + device.peak_phase);
  const double peak = NumberCell(row, "peak_allocated", 0);
  return other && std::abs(static_cast<double>(*other) - peak) <= kPhaseTie * peak;
}

void SetTerms(const plan::DevicePlan& device, const CsvRow& row, ScoredRow& scored) {
  const auto add = [&](const char* name, uint64_t predicted, std::string_view column) {
    scored.terms[name] = {predicted, BytesCell(row, column)};
  };
  add("parameters", device.states.parameters, "param_bytes");
  add("buffers", device.states.buffers, "buffer_bytes");
  add("optimizer_state", device.states.optimizer_state, "optimizer_state_bytes");
  add("gradients", device.states.gradients, "grad_bytes");
  if (Cell(row, "mode") == "train")
    add("activations_end_of_forward", device.states.activations_end_of_forward, "activation_bytes_end_forward");
  if (NumberCell(row, "kv_cache_bytes_end", 0) > 0) add("kv_cache", device.states.kv_cache, "kv_cache_bytes_end");
}

ScoredRow ScoreRow(const CsvRow& row, const std::string& folder) {
  ScoredRow scored;
  scored.id = Cell(row, "row");
  scored.group = Cell(row, "config");
  scored.family = Cell(row, "family");
  const Result<PlanRequest> request = RequestOf(row, folder);
  if (!request) {
    scored.out_of_scope = request.error().message;
    return scored;
  }
  const Result<plan::Plan> plan = plan::MakePlan(*request);
  if (!plan) {
    scored.out_of_scope = plan.error().message;
    return scored;
  }
  const bool ran = Cell(row, "result") == "ok";
  scored.fit_is_right = plan->devices[0].simulation_fits.value_or(false) == ran;
  if (ran) scored.measured_bytes = BytesCell(row, "peak_allocated");
  SetPrediction(plan->devices[0], scored);
  if (!ran) return scored;
  scored.phase_is_right = IsPhaseRight(plan->devices[0], row);
  SetTerms(plan->devices[0], row, scored);
  SetNaiveErrors(*request, scored);
  return scored;
}

}  // namespace

std::vector<ScoredRow> ScoreDryRuns(const std::vector<CsvRow>& rows, const std::string& folder) {
  std::vector<ScoredRow> scored;
  for (const CsvRow& row : rows) scored.push_back(ScoreRow(row, folder));
  return scored;
}

}  // namespace memstrata::bench
