#include "model/allocator/block_rounding.h"

#include <algorithm>
#include <bit>

namespace memstrata {

uint64_t BlockRounding::BlockBytes(uint64_t requested_bytes) const {
  if (requested_bytes == 0) return 0;
  if (requested_bytes < kSmallestBlockBytes) return kSmallestBlockBytes;
  const auto exponent = static_cast<int>(std::bit_width(requested_bytes)) - 1;
  const uint64_t divisions = power2_divisions[static_cast<size_t>(std::clamp(exponent - 20, 0, 15))];
  if (divisions > 1 && requested_bytes > kSmallestBlockBytes * divisions) {
    const uint64_t power = uint64_t{1} << exponent;
    if (requested_bytes == power) return power;
    const uint64_t step = power / divisions;
    if (step == 0) return 2 * power;
    return (requested_bytes + step - 1) / step * step;
  }
  return (requested_bytes + kSmallestBlockBytes - 1) / kSmallestBlockBytes * kSmallestBlockBytes;
}

}  // namespace memstrata
