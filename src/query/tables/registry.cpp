#include "query/tables/tables.h"

namespace memstrata {

std::span<const TableInfo* const> AllTables() {
  static constexpr const TableInfo* kAll[] = {
      &kEventsTable,      &kAllocationsTable,   &kSegmentsTable,    &kFinalSegmentsTable, &kBlocksTable,
      &kSpansTable,       &kStacksTable,        &kFramesTable,      &kHeapsTable,         &kSourcesTable,
      &kDiagnosticsTable, &kProfileEventsTable, &kProgramRunsTable,
  };
  return kAll;
}

}  // namespace memstrata
