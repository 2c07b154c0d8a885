#pragma once
// The order of simultaneous events when frees do not say how large their block was (TPU traces): the size of a free is
// that of the block which is live at its address then, so that it depends on the order itself.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace memstrata::xla {

struct TiedEvent {
  bool is_allocation = false;
  uint64_t addr = 0;
  uint64_t size_bytes = 0;   // of an allocation
  uint64_t after_bytes = 0;  // heap after the event
};

/// An order in which every heap value follows from the one before, as positions in `events`; empty when there is none,
/// or none was found within a bounded search. `live_size(addr)`: size of the block live before the events, 0 = none.
/// Cost: O(n^2) as a rule, at most a million candidates.
std::vector<uint32_t> OrderWithoutSizes(std::span<const TiedEvent> events, uint64_t start_bytes,
                                        const std::function<uint64_t(uint64_t)>& live_size);

}  // namespace memstrata::xla
