#pragma once
// Text from files as text of a Markdown document.

#include <string>
#include <string_view>

namespace memstrata {

/// Nothing in `text` is markup, no table cell ends early; at most 1,000 columns are kept.
std::string EscapeMarkdown(std::string_view text);

}  // namespace memstrata
