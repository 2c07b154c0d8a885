#include "readers/xla/report_text.h"

#include <fmt/format.h>

#include <charconv>

namespace memstrata::xla {
namespace {

constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

}  // namespace

bool LineWalk::Next() {
  if (next_ >= text_.size()) return false;
  begin_ = next_;
  const size_t end = std::min(text_.find('\n', begin_), text_.size());
  line_ = text_.substr(begin_, end - begin_);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  next_ = end + 1;
  return true;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} ? std::optional(number) : std::nullopt;
}

std::string ReportBytes(uint64_t size_bytes) {
  if (size_bytes < 1024) return fmt::format("{}B", size_bytes);
  double size = static_cast<double>(size_bytes) / 1024;
  size_t unit = 1;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) size /= 1024, ++unit;
  return unit == 1 ? fmt::format("{:.1f}KiB", size) : fmt::format("{:.2f}{}", size, kUnits[unit]);
}

std::optional<uint64_t> ParseReportBytes(std::string_view text) {
  double size = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (problem != std::errc{} || !(size >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const std::string_view known : kUnits) {
    if (unit == known) return size < 1.8e19 ? std::optional(static_cast<uint64_t>(size)) : std::nullopt;
    size *= 1024;
  }
  return std::nullopt;
}

}  // namespace memstrata::xla
