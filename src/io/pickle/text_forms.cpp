#include "io/pickle/text_forms.h"

#include <charconv>
#include <cstdint>

namespace memstrata::pickle {
namespace {

void AppendUtf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else if (code < 0x110000) {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put('?');
  }
}

// Hex digits at text[at…at+length), if there are that many.
bool ParseHex(std::string_view text, size_t at, size_t length, uint32_t* code) {
  if (at + length > text.size()) return false;
  const char* begin = text.data() + at;
  const auto [end, problem] = std::from_chars(begin, begin + length, *code, 16);
  return problem == std::errc{} && end == begin + length;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return c;  // quotes and the backslash itself
  }
}

}  // namespace

std::string DecodeRawUnicode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    uint32_t code = 0;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'u' && ParseHex(text, i + 2, 4, &code)) {
      i += 6;
    } else if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'U' && ParseHex(text, i + 2, 8, &code)) {
      i += 10;
    } else {
      code = static_cast<unsigned char>(text[i++]);
    }
    AppendUtf8(code, out);
  }
  return out;
}

std::string DecodeQuoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front())
    return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t code = 0;
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == 'x' && ParseHex(text, i + 2, 2, &code)) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += SimpleEscape(text[++i]);
    }
  }
  return out;
}

std::string ReplaceControl(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return out;
}

}  // namespace memstrata::pickle
