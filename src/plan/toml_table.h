#pragma once
// TOML as plain values; the only file that includes the TOML library is toml_table.cpp.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memstrata::plan {

/// One table: texts, numbers and truth values as text, arrays of texts, and tables within.
struct TomlTable {
  std::map<std::string, std::string> values;
  std::set<std::string> quoted;  // keys of `values` that the file writes as text, not as number or truth value
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, TomlTable> tables;
  std::map<std::string, std::vector<TomlTable>> table_lists;

  std::string Text(const std::string& key) const;
  double Number(const std::string& key) const;  // 0 when absent
};

/// A basic string of TOML. Control characters are escaped, and bytes that are no UTF-8 replaced.
std::string QuoteToml(std::string_view text);

/// Parses at most 4 MiB; kCorruptInput says what is wrong and in which line.
Result<TomlTable> ParseToml(std::string_view text);

}  // namespace memstrata::plan
