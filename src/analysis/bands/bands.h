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

/// The band to name a peak by: the largest of those that come and go, if it is at least a tenth of the peak, else the
/// largest. `bands` must not be empty.
const Band& MakerOfThePeak(const std::vector<Band>& bands, uint64_t peak_bytes);

/// "optimizer state holds 4.81 GiB of it, gradients 1.59 GiB": the largest band, and the maker of the peak where that
/// is another. Empty where the largest is of unknown kind. `bands` must not be empty.
std::string HoldersOfThePeak(const std::vector<Band>& bands, uint64_t peak_bytes);

}  // namespace memstrata
