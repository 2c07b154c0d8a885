#pragma once
// Backward passes from the order of events alone.
//
// A backward starts with the gradient of the loss by itself, a scalar that autograd holds until the backward ends.
// While it lives, the blocks that the forward kept are given back one after the other, the youngest first. Both
// together mark the backward exactly, whatever the model, its optimizer or the number of gradients.

#include <vector>

#include "analysis/phases/order_events.h"

namespace memstrata {

/// Indices into OrderEvents.
struct BackwardPass {
  uint32_t forward_begin = 0;  // the first block that its backward gives back
  uint32_t begin = 0;          // the root gradient
  uint32_t end = 0;            // exclusive
  bool gives_back = true;      // false: nothing that its forward saved stayed on the device
};

/// In order, disjoint. `last_failure_index`: index after the last request that failed, kNone without one; a backward
/// that failed ends there. cost: O(events), O(events log events) where scalars are many
std::vector<BackwardPass> FindBackwardPasses(const OrderEvents& events, uint32_t last_failure_index);

}  // namespace memstrata
