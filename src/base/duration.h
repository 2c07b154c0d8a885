#pragma once
// Durations as people write them on a command line.

#include <optional>
#include <string_view>

namespace memstrata {

/// Nanoseconds in "1.5s", "250ms", "3us", "20ns"; nothing when it is no such text. It may be negative or infinite.
std::optional<double> ParseDuration(std::string_view text);

}  // namespace memstrata
