#pragma once
// What the order and sizes of events show without call stacks: where the model is loaded, where gradients are dropped,
// and where each backward starts.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// One allocation or free with what is needed to compare it with others.
struct OrderEvent {
  uint32_t seq = 0;
  bool is_alloc = false;  // else free_requested
  uint64_t size_bytes = 0;
  uint32_t alloc_seq = kNone;  // of the block; kNone: before the recording
  uint32_t free_seq = kNone;   // of the block; kNone: never
};

/// Frees in a row that give back blocks from all over a backward: the gradients of one step.
struct GradientDrop {
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  std::vector<uint64_t> sizes_bytes;  // in the order of the parameters
  uint32_t first_alloc_seq = kNone;   // of the gradients; kNone: all before the recording
  uint32_t last_alloc_seq = kNone;
};

struct OrderLandmarks {
  std::vector<OrderEvent> events;  // allocations and requested frees only
  uint32_t load_end_seq = 0;
  std::vector<GradientDrop> drops;
  std::vector<uint32_t> backward_begin_seqs;  // ascending
  std::vector<uint32_t> forward_begin_seqs;   // ascending; batches of another shape are missing
  std::vector<uint64_t> parameters_bytes;     // sizes of parameters in order, none twice in a row
};

/// Index of the first event at or after `seq`.
size_t OrderIndexAt(const std::vector<OrderEvent>& events, uint32_t seq);

/// cost: O(events)
OrderLandmarks FindOrderLandmarks(const Store& store, const Heap& heap);

}  // namespace memstrata
