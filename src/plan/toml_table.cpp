#include "plan/toml_table.h"

#include <fmt/format.h>

#include <charconv>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace memstrata::plan {
namespace {

constexpr size_t kMaxTextBytes = size_t{4} << 20;

std::string AsText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return "";
}

TomlTable Convert(const toml::table& source) {
  TomlTable table;
  for (const auto& [key, node] : source) {
    const std::string name(key.str());
    if (const toml::table* inner = node.as_table()) {
      table.tables[name] = Convert(*inner);
    } else if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) {
        if (const toml::table* inner = item.as_table()) {
          table.table_lists[name].push_back(Convert(*inner));
        } else {
          table.lists[name].push_back(AsText(item));
        }
      }
    } else {
      table.values[name] = AsText(node);
    }
  }
  return table;
}

}  // namespace

std::string TomlTable::Text(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

double TomlTable::Number(const std::string& key) const {
  const std::string text = Text(key);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<TomlTable> ParseToml(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Fail(ErrorCode::kLimitExceeded, "A TOML file larger than 4 MiB is not read.");
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Fail(ErrorCode::kCorruptInput,
                fmt::format("This is not TOML (line {}): {}", parsed.error().source().begin.line,
                            parsed.error().description()));
  }
  return Convert(parsed.table());
}

}  // namespace memstrata::plan
