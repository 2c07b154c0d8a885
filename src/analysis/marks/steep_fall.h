#pragma once
// The fall that a person sees: where live memory drops most without a break.

#include "analysis/heap_analysis.h"

namespace memstrata {

struct SteepFall {
  uint32_t begin_seq = 0;   // from the highest moment, after this event
  uint32_t middle_seq = 0;  // the first event after which half of it has fallen
  uint32_t end_seq = 0;     // to the lowest, after this event
  uint64_t bytes = 0;
};

/// The fall from the highest moment after an event of [begin_seq, end_seq) on, until live memory has risen again by a
/// third of it. The range must not be empty. cost: O(events)
SteepFall FindSteepFall(const HeapAnalysis& analysis, uint32_t begin_seq, uint32_t end_seq);

}  // namespace memstrata
