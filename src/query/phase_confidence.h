#pragma once
// How sure the phases of a heap are, from the evidence in the recording at hand.

#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

/// Of each phase of the timeline, 0 to 1; what is counted: docs/explanation/phases.md. cost: O(events + allocations)
std::vector<double> FindPhaseConfidences(const HeapAnalysis& analysis);

}  // namespace memstrata
