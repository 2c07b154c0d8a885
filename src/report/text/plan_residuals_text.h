#pragma once
// `memstrata plan --from` on the screen: what was taken from the recording, and each term beside what was measured.

#include <string>

#include "query/plan_residuals.h"

namespace memstrata {

/// What the verb answers, for both writers.
struct PlanFromRecording {
  plan::Plan plan;
  std::string recording;
  MeasuredPeak peak;
  std::vector<std::pair<std::string, std::string>> filled;
};

std::string PlanFromRecordingText(const PlanFromRecording& answer);

}  // namespace memstrata
