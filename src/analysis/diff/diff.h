#pragma once
// What two recordings of one program hold at their peaks, block by block of the same origin.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

/// Blocks of one origin: the same functions and files called one another, whatever their lines, for the same purpose.
struct DiffRow {
  Category category = Category::kUnknown;
  StackId stack{0};          // in the recording named below
  bool is_in_after = false;  // of `after`, where it has such blocks; else of `before`
  uint64_t before_bytes = 0;
  uint64_t after_bytes = 0;

  int64_t DeltaBytes() const { return static_cast<int64_t>(after_bytes) - static_cast<int64_t>(before_bytes); }
};

struct HeapDiff {
  uint64_t before_peak_bytes = 0;
  uint64_t after_peak_bytes = 0;
  std::vector<DiffRow> rows;  // largest change first; Σ DeltaBytes() = difference of the live peaks
};

/// cost: O(allocations + stacks) of both
HeapDiff DiffPeaks(const HeapAnalysis& before, const HeapAnalysis& after);

}  // namespace memstrata
