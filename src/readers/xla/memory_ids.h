#pragma once
// What a memory ID ("GPU_0_bfc", "xla_gpu_host_bfc", "cpu", "3") says about its allocator.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers/xla/memory_events.h"

namespace memstrata::xla {

/// "tpu" for device numbers, "bfc" for the allocators of that name, "cpu" for the plain host allocators, else the name.
std::string AllocatorOf(std::string_view name, bool is_device_number);
/// Pools of (pinned) host memory: gpu_host_bfc, xla_gpu_host_bfc, cpu, mklcpu …
bool IsHostMemory(std::string_view name);
/// The first number in the name, 0 without one.
uint32_t DeviceOf(std::string_view name);
/// Rows of `ids` by name, numbers in names by value: GPU_2 comes before GPU_10.
std::vector<uint32_t> DisplayOrder(const std::vector<MemoryId>& ids, const StringPool& strings);

}  // namespace memstrata::xla
