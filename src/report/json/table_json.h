#pragma once
// A table as JSON: its columns with type and meaning, and one array per row. Schema memstrata.table/1.

#include "base/byte_sink.h"
#include "query/table.h"

namespace memstrata {

/// `heap`: only rows of this heap; nullptr = all.
Status WriteTableJson(const TableInfo& table, const TableContext& context, const Heap* heap, ByteSink& sink);

}  // namespace memstrata
