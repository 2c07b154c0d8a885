#include "report/markdown/markdown_text.h"

#include "report/text/text_style.h"

namespace memstrata {

std::string EscapeMarkdown(std::string_view text) {
  std::string escaped;
  for (const char c : Shorten(text, 1000)) {
    if (std::string_view("\\`*_{}[]<>|#~$&!").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace memstrata
