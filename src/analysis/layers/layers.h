#pragma once
// Layers that a model calls again and again, counted by their call stacks: how many there are, and what each keeps for
// the backward.

#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct RepeatedLayer {
  StackId call{0};          // where the calls start over: the stack down to the loop
  uint32_t call_count = 0;  // in one forward
  uint64_t kept_bytes = 0;  // of all its calls, alive when the backward begins
};

/// Of the forward of the step that FindRepresentativeStep chooses; those that keep most first, at most `top_count`.
/// cost: O(events · depth of the part of a stack that changes)
std::vector<RepeatedLayer> FindRepeatedLayers(const HeapAnalysis& analysis, size_t top_count);

}  // namespace memstrata
