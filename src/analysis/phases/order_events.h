#pragma once
// Events of a heap reduced to what their order shows without call stacks: which block was made and given back when.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// Scalars: losses, the gradient of the loss by itself, norms, counters.
inline constexpr uint64_t kScalarBytes = 8;
/// Counters have 8 bytes, losses that a program takes the gradient of have no more than these.
inline constexpr uint64_t kFloatBytes = 4;

/// A block is given back: the program asks for it, or it is done.
constexpr bool IsFree(EventKind kind) { return kind == EventKind::kFreeRequested || kind == EventKind::kFreeCompleted; }

/// One allocation or requested free. Indices are positions among the OrderEvents of the heap.
struct OrderEvent {
  uint32_t seq = 0;
  bool is_alloc = false;
  uint64_t size_bytes = 0;
  uint32_t alloc_index = kNone;  // of the block; kNone: before the recording
  uint32_t free_index = kNone;   // of the block; kNone: never

  bool IsScalar() const { return size_bytes <= kScalarBytes; }
  /// An allocation of something larger than a scalar.
  bool IsLargeAlloc() const { return is_alloc && !IsScalar(); }
  /// The block lives at `index` and beyond; kNone is later than all.
  bool LivesBeyond(uint32_t index) const { return free_index >= index; }
};

using OrderEvents = std::vector<OrderEvent>;

/// cost: O(events)
OrderEvents CollectOrderEvents(const Store& store, const Heap& heap);

/// Index of the first event at or after `seq`.
uint32_t OrderIndexAt(const OrderEvents& events, uint32_t seq);

/// Frees in a row, without an allocation between.
struct FreeRun {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t oldest_alloc_index = kNone;  // of its blocks that are no scalars; kNone: of none is it known
};

/// All runs, in order. cost: O(events)
std::vector<FreeRun> FindFreeRuns(const OrderEvents& events);

}  // namespace memstrata
