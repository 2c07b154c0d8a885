#pragma once
// `memstrata plan --dryrun` on the screen: a table of terms, planned and found.

#include <string>

#include "dryrun/plan_comparison.h"
#include "report/text/text_style.h"

namespace memstrata {

std::string PlanComparisonText(const dryrun::PlanComparison& comparison, const TextStyle& style);

}  // namespace memstrata
