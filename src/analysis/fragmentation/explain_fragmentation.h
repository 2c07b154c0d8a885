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
  /// Idle then on streams that make no request any more, of which no other stream can use a byte.
  uint64_t left_stream_idle_bytes = 0;
  uint64_t left_stream = 0;  // handle of the one with most of it
  /// Only where much was idle: replays cost as much as reading the events again.
  std::optional<ReplayedRemedies> replayed;
};

/// Nothing when segments or events are missing. cost: O(allocations + events), and replays where much was idle
std::optional<FragmentationAnswer> ExplainFragmentation(const HeapAnalysis& analysis);

/// Findings when a quarter of the reserved peak lies idle on a stream that is not used any more, or when a replay shows
/// that the peak can be a quarter lower; none for a healthy program.
std::vector<Finding> FragmentationFindings(const FragmentationAnswer& answer);

}  // namespace memstrata
