#pragma once
// How PyTorch's caching allocator rounds a request up to a block. Shared by readers (which derive block sizes of past
// moments) and allocator models.
//
// Source: c10/cuda/CUDACachingAllocator.cpp round_size and CUDAAllocatorConfig roundup_power2_divisions.

#include <array>
#include <cstdint>
#include <string_view>

namespace memstrata {

struct BlockRounding {
  static constexpr uint64_t kSmallestBlockBytes = 512;
  /// What is left of a free block of the large pool is split off only where it is larger.
  static constexpr uint64_t kMostUnsplitBytes = uint64_t{1} << 20;
  /// Divisions per power of two for sizes from 2^(20+i) on (the first also below); 0 or 1 = off.
  std::array<uint64_t, 16> power2_divisions{};

  /// The block size of a request; 0 for a request of 0. Exact up to an unsplit rest (at most 1 MiB in the large pool),
  /// which no rule can know.
  uint64_t BlockBytes(uint64_t requested_bytes) const;

  /// Reads divisions printed as "{1: 2, 256: 4, …}" (keys in MiB). Empty or unreadable: off.
  static BlockRounding FromText(std::string_view text);
};

}  // namespace memstrata
