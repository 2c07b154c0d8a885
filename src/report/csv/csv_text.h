#pragma once
// One text cell of comma-separated values (RFC 4180).

#include <string>
#include <string_view>

namespace memstrata {

/// Appends `text`, quoted where it needs to be.
void AppendCsvText(std::string_view text, std::string& out);

}  // namespace memstrata
