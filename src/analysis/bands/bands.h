#pragma once
// The layers of memory by what they are for.

#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct Band {
  Category category = Category::kUnknown;
  uint64_t at_peak_bytes = 0;
  uint64_t constant_bytes = 0;  // of blocks that live through the whole step of the peak
  uint32_t block_count = 0;     // at the peak
  StackId largest_stack{0};     // of its largest block at the peak
};

/// Largest at the peak first; Σ at_peak_bytes = live bytes at the peak. cost: O(allocations)
std::vector<Band> FindBands(const HeapAnalysis& analysis);

}  // namespace memstrata
