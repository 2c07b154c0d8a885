#pragma once
// What becomes the peak once something is gone.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

struct NextPeak {
  std::string remove;                // what is taken away: a category, "function (file:line)" or "the backward"
  std::optional<Category> category;  // nothing: the blocks of one stack
  StackId stack{0};                  // of a category, none
  Peak peak;                         // the highest moment without it
  uint64_t gain_bytes = 0;           // by how much that is lower
};

/// Where a moment lies, as "in loss of step 0" or "before the first event". cost: O(1)
std::string PlaceOf(const HeapAnalysis& analysis, Moment moment);

/// The peak without the blocks of one category. cost: O(events + allocations)
NextPeak FindPeakWithout(const HeapAnalysis& analysis, Category category);
/// The same without some blocks (rows of allocations, ascending); `remove` is the name of the first one's stack.
NextPeak FindPeakWithout(const HeapAnalysis& analysis, std::span<const uint32_t> rows);

/// For each category that holds at least one percent of the peak and for the stacks that hold most of it, the peak
/// without their blocks; largest gain first. cost: O(removals · events + allocations)
std::vector<NextPeak> FindNextPeaks(const HeapAnalysis& analysis);

}  // namespace memstrata
