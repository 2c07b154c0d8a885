#pragma once
// Memory on the device that the heap's allocator did not take: the context of the driver, libraries such as NCCL, other
// processes.

#include <cstdint>
#include <optional>

#include "model/store/tables.h"

namespace memstrata {

/// unit: bytes. `bytes` = total - free - reserved at `sample`.
struct OutsideMemory {
  uint64_t bytes = 0;
  uint64_t highest_bytes = 0;  // over all samples
  DeviceSample sample;
};

/// The sample that speaks for the peak: the first at or after it, which is the end of the step that holds it; the last
/// one where the peak has no time or comes after all. nullopt where nobody asked the device, or where the answers
/// contradict each other (reserved more than the device says is used).
/// cost: O(samples)
std::optional<OutsideMemory> FindOutside(const Heap& heap, std::optional<int64_t> peak_time_ns);

}  // namespace memstrata
