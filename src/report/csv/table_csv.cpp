#include "report/csv/table_csv.h"

#include <fmt/format.h>

#include <iterator>

#include "report/csv/csv_text.h"

namespace memstrata {
namespace {

void AppendCell(CellType type, const Cell& cell, std::string& out) {
  if (cell.is_null) return;
  switch (type) {
    case CellType::kUnsigned:
    case CellType::kBool:
      fmt::format_to(std::back_inserter(out), "{}", cell.bits);
      break;
    case CellType::kSigned:
      fmt::format_to(std::back_inserter(out), "{}", static_cast<int64_t>(cell.bits));
      break;
    case CellType::kAddress:
      fmt::format_to(std::back_inserter(out), "0x{:x}", cell.bits);
      break;
    case CellType::kText:
      AppendCsvText(cell.text, out);
      break;
  }
}

}  // namespace

Status WriteTableCsv(const TableInfo& table, const TableContext& context, const Heap* heap, ByteSink& sink) {
  constexpr size_t kFlushBytes = 256 * 1024;
  std::string out;
  for (const TableColumn& column : table.columns) {
    if (!out.empty()) out += ',';
    out += column.name;
  }
  out += '\n';
  const uint32_t row_count = table.row_count(context.store);
  for (uint32_t row = 0; row < row_count; ++row) {
    if (heap != nullptr && table.heap_of(context.store, row) != heap) continue;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) out += ',';
      AppendCell(table.columns[i].type, table.columns[i].get(context, row), out);
    }
    out += '\n';
    if (out.size() >= kFlushBytes) {
      MEMSTRATA_TRY(sink.Write(out));
      out.clear();
    }
  }
  return sink.Write(out);
}

}  // namespace memstrata
