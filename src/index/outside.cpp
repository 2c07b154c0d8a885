#include "index/outside.h"

#include <algorithm>

namespace memstrata {
namespace {

std::optional<uint64_t> OutsideBytes(const DeviceSample& sample) {
  if (sample.free_bytes > sample.total_bytes || sample.reserved_bytes > sample.total_bytes - sample.free_bytes)
    return std::nullopt;
  return sample.total_bytes - sample.free_bytes - sample.reserved_bytes;
}

}  // namespace

std::optional<OutsideMemory> FindOutside(const Heap& heap, std::optional<int64_t> peak_time_ns) {
  if (heap.device_samples.empty()) return std::nullopt;
  OutsideMemory outside;
  outside.sample = heap.device_samples.back();
  if (peak_time_ns) {
    const auto found = std::find_if(heap.device_samples.begin(), heap.device_samples.end(),
                                    [&](const DeviceSample& sample) { return sample.time_ns >= *peak_time_ns; });
    if (found != heap.device_samples.end()) outside.sample = *found;
  }
  const std::optional<uint64_t> bytes = OutsideBytes(outside.sample);
  if (!bytes) return std::nullopt;
  outside.bytes = *bytes;
  for (const DeviceSample& sample : heap.device_samples)
    outside.highest_bytes = std::max(outside.highest_bytes, OutsideBytes(sample).value_or(0));
  return outside;
}

}  // namespace memstrata
