#include "base/tab_lines.h"

#include <charconv>

namespace memstrata {

std::vector<std::string> SplitTabLine(std::string_view line) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      fields.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char escaped = line[++i];
      fields.back() += escaped == 't' ? '\t' : escaped == 'n' ? '\n' : escaped;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

std::string TabField(std::string_view text) {
  std::string field;
  for (const char byte : text) {
    if (byte == '\\' || byte == '\t' || byte == '\n') field += '\\';
    field += byte == '\t' ? 't' : byte == '\n' ? 'n' : byte;
  }
  return field;
}

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace memstrata
