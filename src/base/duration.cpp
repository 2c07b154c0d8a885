#include "base/duration.h"

#include <charconv>

namespace memstrata {

std::optional<double> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return std::nullopt;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit == "s") return number * 1e9;
  if (unit == "ms") return number * 1e6;
  if (unit == "us") return number * 1e3;
  if (unit == "ns") return number;
  return std::nullopt;
}

}  // namespace memstrata
