#pragma once
// `memstrata plan --from --json`: docs/reference/json/plan_from.schema.json.

#include <string>

#include "report/text/plan_residuals_text.h"

namespace memstrata {

std::string PlanFromRecordingJson(const PlanFromRecording& answer);

}  // namespace memstrata
