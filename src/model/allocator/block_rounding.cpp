#include "model/allocator/block_rounding.h"

#include <algorithm>
#include <bit>
#include <charconv>

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

BlockRounding BlockRounding::FromText(std::string_view text) {
  BlockRounding rounding;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto next_number = [&](uint64_t* number) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    const auto [after, problem] = std::from_chars(at, end, *number);
    at = after;
    return problem == std::errc{};
  };
  uint64_t mib = 0;
  uint64_t divisions = 0;
  while (next_number(&mib) && next_number(&divisions)) {
    if (mib == 0 || !std::has_single_bit(mib) || divisions > 1024) continue;
    const auto bucket = static_cast<size_t>(std::bit_width(mib) - 1);
    if (bucket < rounding.power2_divisions.size()) rounding.power2_divisions[bucket] = divisions;
  }
  return rounding;
}

}  // namespace memstrata
