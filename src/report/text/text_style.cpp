#include "report/text/text_style.h"

#include <vector>

namespace memstrata {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Start offsets of the characters of `text`.
std::vector<size_t> CharacterStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsContinuation(text[i])) starts.push_back(i);
  }
  return starts;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += IsContinuation(c) ? 0 : 1;
  return width;
}

std::string Shorten(std::string_view text, size_t width) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';  // a file must not move the cursor
  }
  if (DisplayWidth(clean) <= width) return clean;
  if (width < 3) return clean.substr(0, width);
  const std::vector<size_t> starts = CharacterStarts(clean);
  const size_t head = (width - 1) / 2;
  const size_t tail = width - 1 - head;
  return clean.substr(0, starts[head]) + "…" + clean.substr(starts[starts.size() - tail]);
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t used = DisplayWidth(text);
  return std::string(used < width ? width - used : 0, ' ').append(text);
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t used = DisplayWidth(text);
  return std::string(text).append(used < width ? width - used : 0, ' ');
}

std::string WrapLines(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const size_t word_width = DisplayWidth(word);
    if (column > 0 && column + 1 + word_width > width) {
      out += "\n" + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word_width;
  }
  return out;
}

}  // namespace memstrata
