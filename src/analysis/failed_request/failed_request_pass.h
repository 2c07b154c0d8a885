#pragma once
// A request for memory that failed, as a finding: what it asked for, where, and what held the memory.

#include "analysis/pass.h"

namespace memstrata {

std::vector<Finding> ReportFailedRequest(const HeapAnalysis& analysis);

inline constexpr PassInfo kFailedRequestPass = {
    .id = "out_of_memory",
    .question = "Did a request for memory fail, and what held the memory then?",
    .run = ReportFailedRequest,
};

}  // namespace memstrata
