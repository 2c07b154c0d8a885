#pragma once
// What becomes the peak once something is gone.

#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct NextPeak {
  std::string remove;       // what is taken away
  Peak peak;                // the highest moment without it
  uint64_t gain_bytes = 0;  // by how much that is lower
};

/// For each category that holds at least one percent of the peak, the peak without its blocks; largest gain first.
/// cost: O(categories · events + allocations)
std::vector<NextPeak> FindNextPeaks(const HeapAnalysis& analysis);

}  // namespace memstrata
