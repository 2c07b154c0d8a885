#pragma once
// What the allocator settings in a snapshot mean for the sizes of blocks.

#include <span>
#include <string>
#include <utility>

#include "model/allocator/block_rounding.h"

namespace memstrata::torch_snapshot {

/// Reads `roundup_power2_divisions`, printed as "{1: 2, 256: 4, …}" (keys in MiB). Absent or unreadable: off.
BlockRounding RoundingFromSettings(std::span<const std::pair<std::string, std::string>> settings);

}  // namespace memstrata::torch_snapshot
