#pragma once
// What becomes the peak once something is gone.

#include <optional>
#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct NextPeak {
  std::string remove;                // what is taken away: a category, or "function (file:line)"
  std::optional<Category> category;  // nothing: the blocks of one stack
  StackId stack{0};                  // of a category, none
  Peak peak;                         // the highest moment without it
  uint64_t gain_bytes = 0;           // by how much that is lower
};

/// Where a moment lies, as "in loss of step 0" or "before the first event". cost: O(1)
std::string PlaceOf(const HeapAnalysis& analysis, Moment moment);

/// The peak without the blocks of one category. cost: O(events + allocations)
NextPeak FindPeakWithout(const HeapAnalysis& analysis, Category category);

/// For each category that holds at least one percent of the peak and for the stacks that hold most of it, the peak
/// without their blocks; largest gain first. cost: O(removals · events + allocations)
std::vector<NextPeak> FindNextPeaks(const HeapAnalysis& analysis);

}  // namespace memstrata
