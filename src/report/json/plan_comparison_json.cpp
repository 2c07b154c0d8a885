#include "report/json/plan_comparison_json.h"

#include "base/json_writer.h"
#include "plan/report/plan_report.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

using dryrun::ComparedTerm;
using dryrun::PlanComparison;
using dryrun::Verdict;

void WriteTerms(JsonWriter& json, const std::vector<ComparedTerm>& terms) {
  json.Key("terms");
  json.StartArray();
  for (const ComparedTerm& term : terms) {
    json.StartObject();
    json.Field("term", std::string_view(term.term));
    json.Field("planned_bytes", term.planned_bytes);
    json.Field("dryrun_bytes", term.measured_bytes);
    json.Field("difference_bytes", term.DifferenceBytes());
    json.Field("error", term.Error());
    json.EndObject();
  }
  json.EndArray();
}

void WriteMissing(JsonWriter& json, const PlanComparison& comparison) {
  json.Key("missing");
  json.StartArray();
  if (comparison.terms.empty())
    WriteMissingItem(json, "terms", "memory ended before the third step", "give a larger --card");
  for (const ComparedTerm& term : comparison.terms) {
    if (!term.planned_bytes) WriteMissingItem(json, term.term, "the plan has no such figure for this model", "");
    if (!term.measured_bytes) WriteMissingItem(json, term.term, "the model gave nothing of this kind", "");
  }
  json.EndArray();
}

}  // namespace

std::string PlanComparisonJson(const PlanComparison& comparison) {
  const plan::Plan& plan = comparison.plan;
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.plan_dryrun/1");
  json.Key("model");
  json.StartObject();
  json.Field("name", std::string_view(plan.model.name));
  json.Field("parameter_count", plan.model.parameter_count);
  json.EndObject();
  json.Key("workload");
  json.StartObject();
  for (const auto& [name, value] : plan::EffectiveInputs(plan.workload)) json.Field(name, std::string_view(value));
  json.EndObject();
  json.Key("card");
  json.StartObject();
  json.Field("name", std::string_view(comparison.card.name));
  json.Field("capacity_bytes", comparison.card.visible_bytes);
  json.EndObject();
  json.Field("torch", std::string_view(comparison.run.processes.front().torch_version));
  json.TextOrNull("transformers", comparison.transformers_version);
  json.Field("planned_fits", plan.devices.front().simulation_fits);
  json.Field("dryrun_fits", comparison.run.verdict() == Verdict::kFits);
  json.TextOrNull("planned_peak_phase", plan.devices.front().peak_phase);
  json.TextOrNull("dryrun_phase", comparison.last_phase);
  WriteTerms(json, comparison.terms);
  WriteMissing(json, comparison);
  plan::WritePlanDiagnostics(plan, json);
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
