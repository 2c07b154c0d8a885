#pragma once
// Which line holds what steps leave behind.

#include <cstdint>
#include <span>

#include "model/table/id.h"

namespace memstrata {

struct HeapAnalysis;

struct GrowthHolder {
  uint64_t bytes = 0;                 // of all that stays, in blocks of the allocator
  uint64_t parameter_like_bytes = 0;  // of it, in blocks with the size of a parameter
  uint64_t state_bytes = 0;           // of it, in gradients and states of an optimizer, as many as parameters need
  uint64_t largest_bytes = 0;         // of it, allocated by the line that holds most
  StackId stack{0};                   // of most of the bytes of that line; 0 = no stacks
};

/// Of what events [begin_seq, end_seq) allocated and is live until event `kept_until_seq` at least.
/// cost: O(allocations + stacks)
GrowthHolder FindGrowthHolder(const HeapAnalysis& analysis, uint32_t begin_seq, uint32_t end_seq,
                              uint32_t kept_until_seq);

/// The program's own line that gives back nearly all of what steps `falling_steps` (ascending) free and others
/// allocated, two steps before or earlier; 0 where there is no such line: a collector frees wherever it is started.
/// cost: O(allocations + stacks + events)
StackId FindReleasingStack(const HeapAnalysis& analysis, std::span<const uint32_t> falling_steps);

}  // namespace memstrata
