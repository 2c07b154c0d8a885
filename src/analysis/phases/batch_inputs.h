#pragma once
// Where each batch comes to the device, from the order of events alone.

#include <cstdint>
#include <vector>

#include "analysis/phases/backward_passes.h"
#include "analysis/phases/order_events.h"
#include "base/flat_map.h"

namespace memstrata {

/// A zero_grad gives back at least so many gradients in a row; fewer are taken for something else.
inline constexpr uint32_t kFewestDropped = 3;

/// Indices into OrderEvents, [begin, end).
struct IndexRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Gradients: what backwards make and leave.
struct OrderGradients {
  std::vector<bool> is_gradient;  // by index of the allocation
  FlatMap<uint64_t, uint32_t> count_of_size;

  bool Has(uint32_t alloc_index) const { return alloc_index != kNone && is_gradient[alloc_index]; }
  /// Whether a free is one of what was made since `begin`, or of a gradient.
  bool IsOfUpdate(const OrderEvent& free, uint32_t begin) const {
    return free.alloc_index != kNone && (free.alloc_index >= begin || Has(free.alloc_index));
  }
};

/// cost: O(events)
OrderGradients FindOrderGradients(const OrderEvents& events, const std::vector<BackwardPass>& passes);

/// The blocks of a batch with what they are made of and what they replace.
struct BatchInputs {
  IndexRange before_drop;     // what comes before the gradients are dropped; empty where nothing does
  IndexRange before_forward;  // what comes right before the forward; empty, at the begin of the forward, without any

  uint32_t begin() const { return before_drop.begin < before_drop.end ? before_drop.begin : before_forward.begin; }
};

/// By pass. A batch comes before the forward, or before the gradients are dropped, and stays until the next one
/// replaces it. cost: O(events)
std::vector<BatchInputs> FindBatchInputs(const OrderEvents& events, const std::vector<BackwardPass>& passes,
                                         const OrderGradients& gradients);

}  // namespace memstrata
