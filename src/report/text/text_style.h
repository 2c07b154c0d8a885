#pragma once
// Colours and columns of text output.

#include <string>
#include <string_view>

namespace memstrata {

struct TextStyle {
  bool use_color = false;
  int width = 100;

  std::string Bold(std::string_view text) const { return Wrap("1", text); }
  std::string Dim(std::string_view text) const { return Wrap("2", text); }
  std::string Warn(std::string_view text) const { return Wrap("33", text); }
  std::string Error(std::string_view text) const { return Wrap("31", text); }
  std::string Live(std::string_view text) const { return Wrap("36", text); }
  std::string Wrap(std::string_view code, std::string_view text) const {
    if (!use_color) return std::string(text);
    return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[0m");
  }
};

/// Columns that `text` takes on a terminal: characters, not bytes. Wide characters count as one.
size_t DisplayWidth(std::string_view text);
/// `text` shortened to `width` columns with "…" in its middle when it is longer. Control characters become "?".
std::string Shorten(std::string_view text, size_t width);
/// Padded to `width` columns on the left or right.
std::string PadLeft(std::string_view text, size_t width);
std::string PadRight(std::string_view text, size_t width);
/// Text broken at spaces into lines of at most `width` columns, each after the first indented by `indent` spaces.
std::string WrapLines(std::string_view text, size_t width, size_t indent);

}  // namespace memstrata
