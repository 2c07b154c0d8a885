#include "csv.h"

#include <charconv>

namespace memstrata::bench {
namespace {

// One record starting at `position`, which moves behind it.
std::vector<std::string> TakeRecord(std::string_view text, size_t& position) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (; position < text.size(); ++position) {
    const char c = text[position];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (position + 1 < text.size() && text[position + 1] == '"') {
        cells.back() += '"';
        ++position;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++position;
      break;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::vector<CsvRow> ParseCsv(std::string_view text) {
  size_t position = 0;
  const std::vector<std::string> header = TakeRecord(text, position);
  std::vector<CsvRow> rows;
  while (position < text.size()) {
    const std::vector<std::string> cells = TakeRecord(text, position);
    if (cells.size() == 1 && cells[0].empty()) continue;
    CsvRow row;
    for (size_t i = 0; i < header.size(); ++i) row[header[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::string& Cell(const CsvRow& row, std::string_view column) {
  static const std::string kEmpty;
  const auto found = row.find(column);
  return found == row.end() ? kEmpty : found->second;
}

double NumberCell(const CsvRow& row, std::string_view column, double otherwise) {
  const std::string& text = Cell(row, column);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

}  // namespace memstrata::bench
