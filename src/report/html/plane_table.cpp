#include "report/html/plane_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata {

void WritePlanes(FrameWriter& frame, std::string_view name, std::span<const uint64_t> values) {
  uint64_t all_bits = 0;
  for (const uint64_t value : values) all_bits |= value;
  std::vector<uint8_t> plane(values.size());
  for (uint32_t index = 0; index == 0 || (index < sizeof(uint64_t) && all_bits >> (8 * index) != 0); ++index) {
    std::transform(values.begin(), values.end(), plane.begin(),
                   [index](uint64_t value) { return static_cast<uint8_t>(value >> (8 * index)); });
    frame.Values<uint8_t>(fmt::format("{}.{}", name, index), "plane", plane);
  }
}

std::vector<uint64_t> Differences(std::span<const uint64_t> values) {
  std::vector<uint64_t> differences;
  differences.reserve(values.size());
  uint64_t before = 0;
  for (const uint64_t value : values) {
    const auto change = static_cast<int64_t>(value - before);
    differences.push_back(static_cast<uint64_t>(change) << 1 ^ static_cast<uint64_t>(change >> 63));
    before = value;
  }
  return differences;
}

}  // namespace memstrata
