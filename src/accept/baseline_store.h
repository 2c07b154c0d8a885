#pragma once
// Between a recording and the holders of a baseline, in both directions, so that `diff` compares the two as it compares
// two recordings.

#include <vector>

#include "accept/baseline.h"
#include "analysis/heap_analysis.h"

namespace memstrata::accept {

/// Who holds the live peak of a recording, largest first. cost: O(allocations + stacks)
std::vector<BaselineHolder> HoldersOf(const HeapAnalysis& analysis);

/// A recording that holds exactly what the baseline's heap does, from before its first event on. kInternal never.
Result<Store> StoreOf(const BaselineHeap& heap);
/// The parts of an analysis that a comparison of peaks reads. `store` is that of StoreOf and must outlive it.
HeapAnalysis PeakOf(const BaselineHeap& heap, const Store& store);

}  // namespace memstrata::accept
