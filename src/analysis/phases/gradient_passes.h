#pragma once
// Backwards that give back next to nothing of their forward: what it saved lies on the host, or waits for another
// backward of the same graph. They are known by the gradients that they make.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/phases/order_events.h"

namespace memstrata {

/// The life of a root gradient, [begin, end] in indices into OrderEvents.
struct GradientPass {
  uint32_t begin = 0;
  uint32_t end = 0;
  size_t gradient_count = 0;  // made in it
  size_t lasting_count = 0;   // of them, those that are never given back
};

/// Scalars in whose life blocks are made that outlive it and have sizes of weights, no more of a size than there are
/// weights and the last weights first; and blocks of other sizes too, which do not outlive it. Weights are what was
/// made before and stays. Of lives that overlap, the one with the most gradients counts, and of those the shortest. In
/// order, disjoint. cost: O(events), bounded where many scalars live long
std::vector<GradientPass> FindGradientPasses(const OrderEvents& events);

}  // namespace memstrata
