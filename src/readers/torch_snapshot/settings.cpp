#include "readers/torch_snapshot/settings.h"

#include <bit>
#include <charconv>

namespace memstrata::torch_snapshot {

BlockRounding RoundingFromSettings(std::span<const std::pair<std::string, std::string>> settings) {
  BlockRounding rounding;
  for (const auto& [key, text] : settings) {
    if (key != "roundup_power2_divisions") continue;
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
  }
  return rounding;
}

}  // namespace memstrata::torch_snapshot
