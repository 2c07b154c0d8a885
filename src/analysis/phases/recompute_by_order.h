#pragma once
// Recomputation inside backward passes from order and sizes alone: a checkpointed function allocates again what its
// forward allocated and did not keep.

#include <vector>

#include "analysis/phases/backward_passes.h"

namespace memstrata {

/// First and last allocation of a function that runs again; indices into OrderEvents.
struct Recompute {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// cost: O(events of the pass)
std::vector<Recompute> FindRecomputes(const OrderEvents& events, const BackwardPass& pass);

}  // namespace memstrata
