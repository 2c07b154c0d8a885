#pragma once
// Lines of fields separated by tabs: what helpers of the project append to files while they run, so that a killed one
// leaves whole lines. Tabs, newlines and backslashes in a field are escaped.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata {

/// The fields of a line without its newline; at least one. Any bytes are accepted.
std::vector<std::string> SplitTabLine(std::string_view line);

/// `text` as a field of such a line.
std::string TabField(std::string_view text);

/// A whole decimal number and nothing else; nothing where it is not one, or too large.
std::optional<uint64_t> ParseUnsigned(std::string_view text);

}  // namespace memstrata
