#pragma once
// Numbers that follow from the compute capability, as the "Technical Specifications per Compute Capability" table of
// the CUDA C++ Programming Guide (release 12.6, appendix "Compute Capabilities") gives them.

#include <cstdint>

#include "core/settings.h"

namespace memstrata::device {

inline constexpr int32_t kWarpSize = 32;
inline constexpr int32_t kMaxThreadsPerBlock = 1024;
inline constexpr int32_t kRegistersPerMultiprocessor = 65536;
inline constexpr int32_t kSharedMemoryPerBlockBytes = 48 << 10;
inline constexpr int32_t kReservedSharedMemoryBytes = 1 << 10;
inline constexpr int32_t kL2CacheBytes = 40 << 20;  // general knowledge; only launch heuristics read it
inline constexpr int32_t kPciBus = 1;               // device n sits on bus n + 1

/// Most shared memory that one multiprocessor has, and (1 KiB less from 8.0 on) that one block may opt in to.
inline int32_t SharedMemoryPerMultiprocessorBytes(const Settings& card) {
  const int32_t version = card.major * 10 + card.minor;
  if (version < 70) return 96 << 10;
  if (version == 75) return 64 << 10;
  if (version < 80) return 96 << 10;
  if (version == 80 || version == 87) return 164 << 10;
  if (version < 90) return 100 << 10;
  if (version < 120) return 228 << 10;
  return 100 << 10;
}
inline int32_t SharedMemoryOptinBytes(const Settings& card) {
  const int32_t all = SharedMemoryPerMultiprocessorBytes(card);
  return card.major >= 8 ? all - kReservedSharedMemoryBytes : all;
}
inline int32_t MaxBlocksPerMultiprocessor(const Settings& card) {
  const int32_t version = card.major * 10 + card.minor;
  if (version == 75 || version == 86 || version == 87) return 16;
  if (version == 89 || version >= 120) return 24;
  return 32;
}

}  // namespace memstrata::device
