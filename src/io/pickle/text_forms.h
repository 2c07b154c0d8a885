#pragma once
// The text forms of protocol 0, and names from hostile files made fit to print.

#include <string>
#include <string_view>

namespace memstrata::pickle {

/// UNICODE: "\uXXXX" and "\UXXXXXXXX" escapes, other bytes Latin-1. Gives UTF-8 (lone surrogates as three bytes).
std::string DecodeRawUnicode(std::string_view text);
/// STRING: a Python 2 literal in quotes with backslash escapes. Text that is not quoted is taken as it is.
std::string DecodeQuoted(std::string_view text);
/// Control characters become "?", at most 200 bytes are kept.
std::string ReplaceControl(std::string_view text);

}  // namespace memstrata::pickle
