#include "report/json/plan_calibration_json.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/json_writer.h"
#include "base/units.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

void WriteConstant(std::string_view name, const plan::Constant& constant, JsonWriter& json) {
  json.Key(name);
  json.StartObject();
  json.Field("low", constant.low);
  json.Field("best", constant.best);
  json.Field("high", constant.high);
  json.Field("how", std::string_view(constant.how));
  json.EndObject();
}

}  // namespace

std::string PlanCalibrationJson(const PlanCalibration& calibration) {
  const plan::Profile& profile = calibration.profile;
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.plan_calibrate/1");
  json.Field("engine", std::string_view(profile.engine));
  json.Field("engine_version", std::string_view(profile.engine_version));
  json.Field("device", std::string_view(profile.device));
  json.Key("sessions");
  json.StartArray();
  for (const plan::CalibrationSample& sample : calibration.samples) {
    json.StartObject();
    json.Field("recording", std::string_view(sample.recording));
    json.Field("planned_peak_bytes", sample.planned_peak_bytes);
    json.Field("measured_peak_bytes", sample.measured_peak_bytes);
    json.Field("correction_bytes", sample.CorrectionBytes());
    json.Field("reserved_peak_bytes", sample.reserved_peak_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("constants");
  json.StartObject();
  WriteConstant("peak_offset_bytes", profile.peak_offset_bytes, json);
  if (profile.working_share) WriteConstant("working_share", *profile.working_share, json);
  if (profile.peak_ratio) WriteConstant(profile.peak_constant, *profile.peak_ratio, json);
  if (profile.reserved_per_allocated) WriteConstant("reserved_per_allocated", *profile.reserved_per_allocated, json);
  for (const plan::ProcessConstant& constant : plan::kProcessConstants) {
    if (profile.*constant.fitted) WriteConstant(constant.name, *(profile.*constant.fitted), json);
  }
  json.EndObject();
  json.Key("missing");
  json.StartArray();
  for (const auto& [recording, why] : calibration.skipped)
    WriteMissingItem(json, recording, why, "record the whole run, with room for all its events");
  json.EndArray();
  json.EmptyArray("diagnostics");
  json.EndObject();
  return json.Finish();
}

std::string PlanCalibrationText(const PlanCalibration& calibration) {
  std::string text = fmt::format("{:>10} {:>10} {:>11}  {}\n", "planned", "measured", "correction", "recording");
  for (const plan::CalibrationSample& sample : calibration.samples) {
    const int64_t correction = sample.CorrectionBytes();
    text += fmt::format("{:>10} {:>10} {:>11}  {}\n", FormatBytes(static_cast<int64_t>(sample.planned_peak_bytes)),
                        FormatBytes(static_cast<int64_t>(sample.measured_peak_bytes)),
                        (correction < 0 ? "-" : "+") + FormatBytes(std::abs(correction)), sample.recording);
  }
  for (const auto& [recording, why] : calibration.skipped) text += fmt::format("left out: {}: {}\n", recording, why);
  return text;
}

}  // namespace memstrata
