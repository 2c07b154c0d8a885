#pragma once
// `memstrata plan calibrate`: its table and docs/reference/json/plan_calibrate.schema.json.

#include <string>
#include <utility>
#include <vector>

#include "plan/profile.h"

namespace memstrata {

struct PlanCalibration {
  plan::Profile profile;
  std::vector<plan::CalibrationSample> samples;
  std::vector<std::pair<std::string, std::string>> skipped;  // recordings, and why
};

std::string PlanCalibrationJson(const PlanCalibration& calibration);
std::string PlanCalibrationText(const PlanCalibration& calibration);

}  // namespace memstrata
