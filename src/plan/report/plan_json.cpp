#include "plan/report/investigation.h"
#include "plan/report/plan_report.h"
#include "plan/report/used_inputs.h"

namespace memstrata::plan {
namespace {

void WriteLines(const std::vector<Line>& lines, JsonWriter& json) {
  json.StartArray();
  for (const Line& line : lines) {
    json.StartObject();
    json.Field("term", std::string_view(line.term));
    json.Field("bytes", line.bytes);
    json.Field("low_bytes", line.low_bytes);
    json.Field("high_bytes", line.high_bytes);
    json.Field("basis", Name(line.basis));
    json.Field("how", std::string_view(line.how));
    json.Field("source", std::string_view(line.source));
    json.Field("persistent", line.is_persistent);
    json.Field("changed_by", std::string_view(line.changed_by));
    json.Field("investigate", InvestigationOf(line.term));
    json.EndObject();
  }
  json.EndArray();
}

void WriteStates(const StateBytes& states, JsonWriter& json) {
  json.StartObject();
  json.Field("parameters_bytes", states.parameters);
  json.Field("buffers_bytes", states.buffers);
  json.Field("gradients_bytes", states.gradients);
  json.Field("optimizer_state_bytes", states.optimizer_state);
  json.Field("activations_end_of_forward_bytes", states.activations_end_of_forward);
  json.Field("kv_cache_bytes", states.kv_cache);
  json.Field("optimizer_transient_bytes", states.optimizer_transient);
  json.EndObject();
}

void WriteDevice(const DevicePlan& device, JsonWriter& json) {
  json.StartObject();
  json.Field("rank", device.rank);
  json.Field("stage", device.stage);
  json.Key("lines");
  WriteLines(device.lines, json);
  json.Field("total_bytes", device.total_bytes);
  json.Field("low_bytes", device.low_bytes);
  json.Field("high_bytes", device.high_bytes);
  json.Field("framework_peak_bytes", device.framework_peak_bytes);
  json.Field("framework_peak_low_bytes", device.framework_peak_low_bytes);
  json.Field("framework_peak_high_bytes", device.framework_peak_high_bytes);
  json.Field("host_bytes", device.host_bytes);
  json.Field("framework_reserved_bytes", device.framework_reserved_bytes);
  json.Key("peak_phase");
  if (device.peak_phase.empty()) {
    json.Null();
  } else {
    json.Value(std::string_view(device.peak_phase));
  }
  json.Key("phase_peaks");
  json.StartObject();
  for (const auto& [name, bytes] : device.phase_peaks) json.Field(name, bytes);
  json.EndObject();
  json.Key("states");
  WriteStates(device.states, json);
  json.EndObject();
}

void WriteStrategies(const std::vector<Strategy>& strategies, JsonWriter& json) {
  json.Key("strategies");
  json.StartArray();
  for (const Strategy& strategy : strategies) {
    json.StartObject();
    json.Field("name", std::string_view(strategy.name));
    json.Field("parallel", std::string_view(strategy.parallel));
    json.Field("cost", std::string_view(strategy.cost));
    json.Field("device_bytes", strategy.device_bytes);
    json.Field("fits", strategy.fits);
    json.Field("problem", std::string_view(strategy.problem));
    json.EndObject();
  }
  json.EndArray();
}

void WriteTarget(const Plan& plan, JsonWriter& json) {
  json.Key("target");
  if (!plan.target) {
    json.Null();
    return;
  }
  const Target& target = *plan.target;
  json.StartObject();
  json.Field("card", std::string_view(target.card.id));
  json.Field("name", std::string_view(target.card.name));
  json.Field("capacity_bytes", target.card.vendor_bytes);
  json.Field("usable_bytes", target.usable_bytes);
  json.Field("margin_bytes", target.margin_bytes);
  json.Field("margin_at_high_bytes", target.margin_at_high_bytes);
  json.Field("runs_engine", target.runs_engine);
  json.Field("can_join", target.can_join);
  json.Field("source", std::string_view(target.card.source));
  json.Texts("unsupported_formats", target.unsupported);
  json.EndObject();
}

void WriteWorkload(const Plan& plan, JsonWriter& json) {
  const Workload& workload = plan.workload;
  json.Key("workload");
  json.StartObject();
  const std::vector<std::pair<std::string, std::string>> inputs = EffectiveInputs(workload);
  for (const auto& [name, value] : inputs) json.Field(name, std::string_view(value));
  json.Key("assumed");
  json.StartArray();
  for (const auto& [name, value] : inputs) {
    if (!workload.given.contains(name) && IsUsed(plan, name)) json.Value(std::string_view(name));
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

void WritePlanDiagnostics(const Plan& plan, JsonWriter& json) {
  json.Key("diagnostics");
  json.StartArray();
  for (const Diagnostic& diagnostic : plan.diagnostics) {
    json.StartObject();
    json.Field("severity", std::string_view(diagnostic.severity));
    json.Field("code", std::string_view(diagnostic.code));
    json.Field("count", uint64_t{1});
    json.NullField("first_offset");
    json.Field("text", std::string_view(diagnostic.text));
    json.EndObject();
  }
  json.EndArray();
}

void WritePlanJson(const Plan& plan, JsonWriter& json) {
  json.StartObject();
  json.Field("schema", "memstrata.plan/1");
  json.Key("model");
  json.StartObject();
  json.Field("name", std::string_view(plan.model.name));
  json.Field("parameter_count", plan.model.parameter_count);
  json.Field("source", std::string_view(plan.model.source));
  json.Field("model_type", std::string_view(plan.model.model_type));
  json.EndObject();
  WriteWorkload(plan, json);
  json.Key("devices");
  json.StartArray();
  for (const DevicePlan& device : plan.devices) WriteDevice(device, json);
  json.EndArray();
  json.Key("host");
  json.StartObject();
  json.Key("lines");
  WriteLines(plan.host_lines, json);
  json.Field("total_bytes", plan.host_total_bytes);
  json.Field("cpu_cores", plan.cpu_cores);
  json.EndObject();
  json.Key("storage");
  json.StartObject();
  json.Key("lines");
  WriteLines(plan.storage_lines, json);
  json.EndObject();
  WriteTarget(plan, json);
  json.Field("fits", plan.fits);
  json.Field("fits_at_high", plan.fits_at_high);
  json.Field("verdict", std::string_view(plan.verdict));
  json.Key("largest");
  json.StartObject();
  json.Field("batch", plan.largest.batch);
  json.Field("sequence", plan.largest.sequence);
  json.Field("concurrency", plan.largest.concurrency);
  json.EndObject();
  json.Field("kv_tokens", plan.kv_tokens);
  json.Texts("left_out", plan.left_out);
  json.Texts("changes", plan.changes);
  WriteStrategies(plan.strategies, json);
  WritePlanDiagnostics(plan, json);
  json.EndObject();
}

void WriteSweepJson(const Sweep& sweep, JsonWriter& json) {
  json.StartObject();
  json.Field("schema", "memstrata.plan_sweep/1");
  json.Field("input", std::string_view(sweep.input));
  json.Key("points");
  json.StartArray();
  for (const SweepPoint& point : sweep.points) {
    json.StartObject();
    json.Field("value", std::string_view(point.value));
    json.Field("total_bytes", point.total_bytes);
    json.Field("framework_peak_bytes", point.framework_peak_bytes);
    json.Field("peak_phase", std::string_view(point.peak_phase));
    json.Field("fits", point.fits);
    json.EndObject();
  }
  json.EndArray();
  json.Key("break_point");
  if (sweep.break_point) {
    json.Value(static_cast<uint64_t>(*sweep.break_point));
  } else {
    json.Null();
  }
  json.EndObject();
}

}  // namespace memstrata::plan
