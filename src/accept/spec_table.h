#pragma once
// One table of a specification, read key by key. Remembers the first thing that is wrong, and which keys were asked
// for, so that all others are errors: a misspelt limit must not pass for one that holds.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/toml_table.h"

namespace memstrata::accept {

/// The number that a text is; nothing for another text, and for one that is not finite.
std::optional<double> NumberIn(const std::string& text);

class SpecTable {
 public:
  /// `name` is its path in the file, empty for the file itself. `table` must live as long as this.
  SpecTable(const plan::TomlTable& table, std::string name) : table_(table), name_(std::move(name)) {}

  std::optional<std::string> Text(const std::string& key);
  std::optional<double> Number(const std::string& key, double least);
  std::optional<uint64_t> Count(const std::string& key, uint64_t least, uint64_t most);
  /// A text as "2 GiB" or a whole number of bytes.
  std::optional<uint64_t> Bytes(const std::string& key);
  std::vector<std::string> Texts(const std::string& key);
  /// All single values of a table of free names, as text.
  std::map<std::string, std::string> Values(const std::string& table);
  /// An empty table where there is none.
  SpecTable Table(const std::string& key);
  std::vector<SpecTable> Tables(const std::string& key);
  const plan::TomlTable& toml() const { return table_; }
  void Use(const std::string& key) { used_.insert(key); }

  void Fail(const std::string& key, const std::string& what);
  /// The first error, or that a key of this table is unknown.
  Status Finish() const;

 private:
  std::string Name(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }

  const plan::TomlTable& table_;
  std::string name_;
  std::set<std::string> used_;
  std::string problem_;
};

}  // namespace memstrata::accept
