#pragma once
// Whether idle memory made the reserved peak as high as it is, and what other settings would have given, by replay.

#include <optional>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/fragmentation/remedies.h"
#include "analysis/pass.h"

namespace memstrata {

struct FragmentationAnswer {
  Fragmentation at_peak;  // just before the reserved peak: what could not serve the request that made it
  uint64_t peak_reserved_bytes = 0;
  /// Only where much was idle: replays cost as much as reading the events again.
  std::optional<ReplayedRemedies> replayed;
};

/// Nothing when segments or events are missing. cost: O(allocations + events), and replays where much was idle
std::optional<FragmentationAnswer> ExplainFragmentation(const HeapAnalysis& analysis);

/// One finding when a replay shows that the reserved peak can be a quarter lower; none for a healthy program.
std::vector<Finding> FragmentationFindings(const FragmentationAnswer& answer);

}  // namespace memstrata
