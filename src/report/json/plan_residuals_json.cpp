#include "report/json/plan_residuals_json.h"

#include "base/json_writer.h"
#include "plan/report/plan_report.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

void WriteMissing(const std::vector<PlanResidual>& residuals, const PlanFromRecording& answer, JsonWriter& json) {
  const MeasuredPeak& peak = answer.peak;
  json.Key("missing");
  json.StartArray();
  if (!peak.lower_bound_reason.empty())
    WriteMissingItem(json, "measured_bytes", peak.lower_bound_reason,
                     "record from the start of the process, with room for all events");
  for (const std::string& input : UntoldInputs(answer.plan.workload, answer.filled)) {
    WriteMissingItem(json, "workload." + input,
                     "A recording does not tell it, and it was not given; the plan takes its default.",
                     "give --" + input + " as the run had it");
  }
  for (const PlanResidual& residual : residuals) {
    if (!residual.planned_bytes)
      WriteMissingItem(json, residual.term, "The plan has no term of this category.",
                       "see --by category of summary for what it is");
    if (!residual.measured_bytes) {
      WriteMissingItem(json, residual.term, "Nothing of this kind is in the recording at its peak.",
                       "capture with labels, docs/howto/capture.md, so that kinds of memory are told apart");
    }
  }
  json.EndArray();
}

}  // namespace

std::string PlanFromRecordingJson(const PlanFromRecording& answer) {
  const std::vector<PlanResidual> residuals = FindResiduals(answer.plan, answer.peak);
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.plan_from/1");
  json.Field("recording", std::string_view(answer.recording));
  json.Field("heap", std::string_view(answer.peak.heap));
  json.Key("filled");
  json.StartObject();
  for (const auto& [input, value] : answer.filled) json.Field(input, std::string_view(value));
  json.EndObject();
  json.Key("terms");
  json.StartArray();
  for (const PlanResidual& residual : residuals) {
    json.StartObject();
    json.Field("term", std::string_view(residual.term));
    json.Field("planned_bytes", residual.planned_bytes);
    json.Field("measured_bytes", residual.measured_bytes);
    json.Field("difference_bytes", residual.DifferenceBytes());
    json.EndObject();
  }
  json.EndArray();
  json.Key("plan");
  plan::WritePlanJson(answer.plan, json);
  WriteMissing(residuals, answer, json);
  json.EmptyArray("diagnostics");
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
