#pragma once
// `memstrata plan calibrate SESSION…`: fits a profile from recordings of runs whose workload is known.

#include "cli/subcommand.h"
#include "plan/request_file.h"
#include "query/plan_residuals.h"

namespace memstrata::cli {

/// A request file (none when empty) and the flags that win over it.
Result<plan::RequestTexts> PlanTextsOf(const Arguments& arguments, const std::string& file);
/// What a recording measured, to be set beside a plan.
Result<MeasuredPeak> MeasureRecording(const std::string& recording, Console& console);
/// The profile of --profile, or nothing.
Result<std::optional<plan::Profile>> PlanProfileOf(const Arguments& arguments);

/// Plans what each session ran, sets it beside what was measured, and prints or writes the profile.
Result<int> CalibratePlan(const Arguments& arguments, Console& console);

}  // namespace memstrata::cli
