#pragma once
// Steps whose peaks rise though each starts from the same level: their tensors get larger.

#include "analysis/pass.h"

namespace memstrata {

/// One finding, or none where peaks do not rise or the level does. cost: O(events + allocations)
std::vector<Finding> ReportRisingPeaks(const HeapAnalysis& analysis);

inline constexpr PassInfo kRisingPeaksPass = {
    .id = "rising_peaks",
    .question = "Do the peaks of the steps rise while nothing stays behind?",
    .run = ReportRisingPeaks,
};

}  // namespace memstrata
