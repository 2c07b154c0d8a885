#pragma once
// `memstrata plan --dryrun --json`: docs/reference/json/plan_dryrun.schema.json.

#include <string>

#include "dryrun/plan_comparison.h"

namespace memstrata {

std::string PlanComparisonJson(const dryrun::PlanComparison& comparison);

}  // namespace memstrata
