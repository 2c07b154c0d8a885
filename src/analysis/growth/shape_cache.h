#pragma once
// A cache that keeps something for each shape of input: it grows with every new shape, and with no other.

#include <cstdint>
#include <span>

namespace memstrata {

struct HeapAnalysis;

/// Whether all of `rising_steps` (ascending, none of them the first) came with a shape that no step before had, one of
/// these shapes came again without a rise, and few new shapes left nothing. A new shape shows in sizes that no forward
/// made and freed before. cost: O(allocations + steps)
bool GrowsWithNewShapes(const HeapAnalysis& analysis, std::span<const uint32_t> rising_steps);

}  // namespace memstrata
