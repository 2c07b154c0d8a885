#pragma once
// A small CSV reader for the scoring program: header line, quoted fields, no embedded line breaks beyond quotes.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata::bench {

using CsvRow = std::map<std::string, std::string, std::less<>>;

/// All rows of `text`, by column name. Cells that a row lacks are empty.
std::vector<CsvRow> ParseCsv(std::string_view text);

/// The cell, or "" when the column does not exist.
const std::string& Cell(const CsvRow& row, std::string_view column);
/// The cell as a number, or `otherwise` when empty or no number.
double NumberCell(const CsvRow& row, std::string_view column, double otherwise);

}  // namespace memstrata::bench
