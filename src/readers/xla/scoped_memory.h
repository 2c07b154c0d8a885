#pragma once
// On-chip memory that a TPU instruction asks for by itself, from the JSON in its backend_config.

#include <cstdint>
#include <string_view>
#include <vector>

namespace memstrata::xla {

struct ScopedMemory {
  int64_t space = 0;
  uint64_t size_bytes = 0;
};

/// The entries of "used_scoped_memory_configs"; empty for any other text. Numbers may be written as strings.
std::vector<ScopedMemory> ReadScopedMemory(std::string_view backend_config);

}  // namespace memstrata::xla
