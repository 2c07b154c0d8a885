#include "report/csv/csv_text.h"

namespace memstrata {

void AppendCsvText(std::string_view text, std::string& out) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace memstrata
