#pragma once
// What makes the peak, and what the peak would be without it, as a finding.

#include "analysis/pass.h"

namespace memstrata {

std::vector<Finding> ReportPeak(const HeapAnalysis& analysis);

inline constexpr PassInfo kPeakPass = {
    .id = "peak",
    .question = "What makes the peak, and where would it lie without it?",
    .run = ReportPeak,
};

}  // namespace memstrata
