#pragma once
// Growth as findings.

#include "analysis/growth/growth.h"
#include "analysis/pass.h"

namespace memstrata {

std::vector<Finding> ReportGrowth(const HeapAnalysis& analysis);

inline constexpr PassInfo kGrowthPass = {
    .id = "growth",
    .question = "Does memory grow from step to step, and who holds what stays?",
    .run = ReportGrowth,
};

}  // namespace memstrata
