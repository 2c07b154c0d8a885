#include "base/units.h"

#include <fmt/format.h>

#include <array>

namespace memstrata {
namespace {

// Three significant digits, never an exponent: 6.53, 65.3, 653.
std::string ThreeDigits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string FormatBytes(uint64_t size_bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size_bytes < 1024) return fmt::format("{} B", size_bytes);
  auto value = static_cast<double>(size_bytes);
  size_t unit = 0;
  // 1023.5 of a unit would be printed as 1024: it becomes 1.00 of the next.
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), kUnits[unit]);
}

std::string FormatBytes(int64_t size_bytes) {
  if (size_bytes >= 0) return FormatBytes(static_cast<uint64_t>(size_bytes));
  return "-" + FormatBytes(uint64_t{0} - static_cast<uint64_t>(size_bytes));
}

std::string FormatCount(uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string FormatCount(uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", FormatCount(count), singular, count == 1 ? "" : "s");
}

std::string FormatPercent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string FormatDuration(int64_t duration_ns) {
  const auto value = static_cast<double>(duration_ns);
  if (duration_ns < 1000) return fmt::format("{} ns", duration_ns);
  if (value < 1e6) return ThreeDigits(value / 1e3) + " µs";
  if (value < 1e9) return ThreeDigits(value / 1e6) + " ms";
  if (value < 120e9) return ThreeDigits(value / 1e9) + " s";
  const int64_t seconds = duration_ns / 1'000'000'000;
  if (seconds < int64_t{2} * 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string FormatAddress(uint64_t address) { return fmt::format("0x{:x}", address); }

}  // namespace memstrata
