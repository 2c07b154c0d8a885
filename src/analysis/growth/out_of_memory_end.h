#pragma once
// At which step and with which request a leak ends in out-of-memory.

#include "analysis/growth/growth.h"

namespace memstrata {

/// The recorded failure, or what follows from the capacity when every later step is like a recorded one, the last
/// complete one or those of the last period, and adds `growth.bytes_per_step`. Of the capacity, live memory has neither
/// what lies outside the allocator nor what that holds idle beside live blocks; where the former is not measured,
/// memory runs out sooner. Nothing when neither a failure nor the capacity is known. cost: O(events + allocations)
std::optional<OutOfMemoryEnd> FindOutOfMemoryEnd(const HeapAnalysis& analysis, const Growth& growth);

}  // namespace memstrata
