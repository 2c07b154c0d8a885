#include "report/json/table_json.h"

#include "base/json_writer.h"
#include "base/units.h"

namespace memstrata {
namespace {

void WriteCell(JsonWriter& json, CellType type, const Cell& cell) {
  if (cell.is_null) return json.Null();
  switch (type) {
    case CellType::kUnsigned:
      return json.Value(cell.bits);
    case CellType::kSigned:
      return json.Value(static_cast<int64_t>(cell.bits));
    case CellType::kAddress:
      return json.Value(std::string_view(FormatAddress(cell.bits)));
    case CellType::kBool:
      return json.Value(cell.bits != 0);
    case CellType::kText:
      return json.Value(cell.text);
  }
}

}  // namespace

Status WriteTableJson(const TableInfo& table, const TableContext& context, const Heap* heap, ByteSink& sink) {
  constexpr uint32_t kRowsPerWrite = 1024;
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Field("schema", "memstrata.table/1");
  json.Field("table", table.name);
  json.Key("columns");
  json.StartArray();
  for (const TableColumn& column : table.columns) {
    json.StartObject();
    json.Field("name", column.name);
    json.Field("type", kCellTypeNames[static_cast<size_t>(column.type)]);
    json.Field("doc", column.doc);
    json.EndObject();
  }
  json.EndArray();
  json.Key("rows");
  json.StartArray();
  const uint32_t row_count = table.row_count(context.store);
  for (uint32_t row = 0; row < row_count; ++row) {
    if (heap != nullptr && table.heap_of(context.store, row) != heap) continue;
    json.StartArray();
    for (const TableColumn& column : table.columns) WriteCell(json, column.type, column.get(context, row));
    json.EndArray();
    if (row % kRowsPerWrite == 0) MEMSTRATA_TRY(sink.Write(json.TakeText()));
  }
  json.EndArray();
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
