#include "query/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata {

Result<const TableInfo*> FindTable(std::string_view name) {
  std::string known;
  for (const TableInfo* table : AllTables()) {
    if (table->name == name) return table;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", table->name);
  }
  return Fail(ErrorCode::kInvalidArgument, fmt::format("There is no table \"{}\"; there are: {}.", name, known));
}

const Heap* HeapOfRow(const Store& store, RowRange Heap::*range, uint32_t row) {
  const auto after = std::partition_point(store.heaps.begin(), store.heaps.end(),
                                          [&](const Heap& heap) { return (heap.*range).end <= row; });
  return after != store.heaps.end() && (*after.*range).begin <= row ? &*after : nullptr;
}

}  // namespace memstrata
