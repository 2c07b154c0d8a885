#pragma once
// A table as comma-separated values (RFC 4180, but with "\n" line ends): first line the column names, empty cell =
// null.

#include "base/byte_sink.h"
#include "query/table.h"

namespace memstrata {

/// `heap`: only rows of this heap; nullptr = all.
Status WriteTableCsv(const TableInfo& table, const TableContext& context, const Heap* heap, ByteSink& sink);

}  // namespace memstrata
