#pragma once
// A cache that keeps something for each shape of input: it grows with every new shape, and with no other.

#include <cstdint>
#include <span>

namespace memstrata {

struct HeapAnalysis;

/// Whether just the steps of `rising_steps` (ascending, none of them the first) came with a shape that no step before
/// had, told by the largest block of their forward; some shapes must come again. cost: O(allocations + steps log steps)
bool GrowsWithNewShapes(const HeapAnalysis& analysis, std::span<const uint32_t> rising_steps);

}  // namespace memstrata
