#pragma once
// An evaluation inside a training that keeps its graph: nobody told it that no backward follows.

#include "analysis/pass.h"

namespace memstrata {

std::vector<Finding> ReportKeptEvaluation(const HeapAnalysis& analysis);

inline constexpr PassInfo kKeptEvaluationPass = {
    "kept_evaluation", "Does an evaluation keep activations for a backward that does not come?", ReportKeptEvaluation};

}  // namespace memstrata
