#pragma once
// Which line holds what steps leave behind.

#include <cstdint>

#include "model/table/id.h"

namespace memstrata {

struct HeapAnalysis;

struct GrowthHolder {
  uint64_t bytes = 0;                 // of all that stays, in blocks of the allocator
  uint64_t parameter_like_bytes = 0;  // of it, in blocks with the size of a parameter
  uint64_t largest_bytes = 0;         // of it, allocated by the line that holds most
  StackId stack{0};                   // of most of the bytes of that line; 0 = no stacks
};

/// Of what events [begin_seq, end_seq) allocated and is live until event `kept_until_seq` at least.
/// cost: O(allocations + stacks)
GrowthHolder FindGrowthHolder(const HeapAnalysis& analysis, uint32_t begin_seq, uint32_t end_seq,
                              uint32_t kept_until_seq);

}  // namespace memstrata
