#include "accept/spec_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "plan/workload.h"

namespace memstrata::accept {
namespace {

const plan::TomlTable kEmptyTable;

}  // namespace

std::optional<double> NumberIn(const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

void SpecTable::Fail(const std::string& key, const std::string& what) {
  if (problem_.empty()) problem_ = fmt::format("{} {}.", Name(key), what);
}

std::optional<std::string> SpecTable::Text(const std::string& key) {
  Use(key);
  const auto found = table_.values.find(key);
  if (found == table_.values.end()) {
    if (table_.lists.contains(key) || table_.tables.contains(key) || table_.table_lists.contains(key))
      Fail(key, "takes a text");
    return std::nullopt;
  }
  if (!table_.quoted.contains(key)) Fail(key, "takes a text in quotes");
  if (found->second.empty()) Fail(key, "is empty");
  return found->second;
}

std::optional<double> SpecTable::Number(const std::string& key, double least) {
  Use(key);
  const auto found = table_.values.find(key);
  if (found == table_.values.end()) {
    if (table_.lists.contains(key) || table_.tables.contains(key)) Fail(key, "takes a number");
    return std::nullopt;
  }
  const std::optional<double> number = NumberIn(found->second);
  if (table_.quoted.contains(key) || !number || *number < least) {
    Fail(key, fmt::format("takes a number of at least {}", least));
    return std::nullopt;
  }
  return number;
}

std::optional<uint64_t> SpecTable::Count(const std::string& key, uint64_t least, uint64_t most) {
  const std::optional<double> number = Number(key, static_cast<double>(least));
  if (!number) return std::nullopt;
  if (*number != std::floor(*number) || *number > static_cast<double>(most)) {
    Fail(key, fmt::format("takes a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return static_cast<uint64_t>(*number);
}

std::optional<uint64_t> SpecTable::Bytes(const std::string& key) {
  Use(key);
  const auto found = table_.values.find(key);
  if (found == table_.values.end()) return std::nullopt;
  const Result<uint64_t> size_bytes = plan::ParseBytes(found->second);
  if (!size_bytes) {
    Fail(key, fmt::format("takes a size, as \"80 GiB\" or a number of bytes, not \"{}\"", found->second));
    return std::nullopt;
  }
  return *size_bytes;
}

std::vector<std::string> SpecTable::Texts(const std::string& key) {
  Use(key);
  const auto found = table_.lists.find(key);
  if (found != table_.lists.end()) return found->second;
  if (table_.values.contains(key) || table_.tables.contains(key)) Fail(key, "takes a list in square brackets");
  return {};
}

std::map<std::string, std::string> SpecTable::Values(const std::string& table) {
  Use(table);
  const auto found = table_.tables.find(table);
  if (found == table_.tables.end()) {
    if (table_.values.contains(table)) Fail(table, "is a table");
    return {};
  }
  const plan::TomlTable& inner = found->second;
  if (!inner.lists.empty()) Fail(table + "." + inner.lists.begin()->first, "takes one value");
  if (!inner.tables.empty()) Fail(table + "." + inner.tables.begin()->first, "takes one value");
  return inner.values;
}

SpecTable SpecTable::Table(const std::string& key) {
  Use(key);
  const auto found = table_.tables.find(key);
  if (found == table_.tables.end() && table_.values.contains(key)) Fail(key, "is a table");
  return {found == table_.tables.end() ? kEmptyTable : found->second, Name(key)};
}

std::vector<SpecTable> SpecTable::Tables(const std::string& key) {
  Use(key);
  std::vector<SpecTable> tables;
  const auto found = table_.table_lists.find(key);
  if (found == table_.table_lists.end()) {
    if (table_.values.contains(key) || table_.tables.contains(key)) Fail(key, "is written as [[" + key + "]]");
    return tables;
  }
  for (const plan::TomlTable& table : found->second) tables.emplace_back(table, Name(key));
  return tables;
}

Status SpecTable::Finish() const {
  if (!problem_.empty()) return memstrata::Fail(ErrorCode::kInvalidArgument, problem_);
  const auto check = [&](const auto& members) -> Status {
    for (const auto& [key, value] : members) {
      if (!used_.contains(key))
        return memstrata::Fail(ErrorCode::kInvalidArgument, fmt::format("There is no key {}.", Name(key)));
    }
    return {};
  };
  MEMSTRATA_TRY(check(table_.values));
  MEMSTRATA_TRY(check(table_.lists));
  MEMSTRATA_TRY(check(table_.tables));
  return check(table_.table_lists);
}

}  // namespace memstrata::accept
