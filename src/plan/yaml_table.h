#pragma once
// YAML as the same plain values as TOML; the only file that includes the YAML library is yaml_table.cpp.

#include <string_view>

#include "base/result.h"
#include "plan/toml_table.h"

namespace memstrata::plan {

/// Parses one YAML document of at most 1 MiB whose root is a mapping, nested at most 8 levels. Plain data only: no
/// aliases, no tags, no key twice. kCorruptInput says what is wrong and in which line.
Result<TomlTable> ParseYaml(std::string_view text);

}  // namespace memstrata::plan
