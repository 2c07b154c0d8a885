#pragma once
// At which step and with which request a leak ends in out-of-memory.

#include "analysis/growth/growth.h"

namespace memstrata {

/// The recorded failure, or what follows from the capacity when every later step is like a recorded one, the last
/// complete one or those of the last period, and adds `growth.bytes_per_step`. What the allocator reserves beyond live
/// blocks can only make it sooner. Nothing when neither a failure nor the capacity is known. cost: O(events)
std::optional<OutOfMemoryEnd> FindOutOfMemoryEnd(const HeapAnalysis& analysis, const Growth& growth);

}  // namespace memstrata
