#pragma once
// One declaration per table; each is described in query/tables/NAME_table.cpp and listed in query/tables/registry.cpp.

#include "query/table.h"

namespace memstrata {

extern const TableInfo kEventsTable;
extern const TableInfo kAllocationsTable;
extern const TableInfo kSegmentsTable;
extern const TableInfo kFinalSegmentsTable;
extern const TableInfo kBlocksTable;
extern const TableInfo kSpansTable;
extern const TableInfo kStacksTable;
extern const TableInfo kFramesTable;
extern const TableInfo kHeapsTable;
extern const TableInfo kSourcesTable;
extern const TableInfo kDiagnosticsTable;
extern const TableInfo kProfileEventsTable;
extern const TableInfo kProgramRunsTable;

/// Cells that several tables have.
inline Cell StreamCell(const Store& store, uint32_t stream) {
  return stream == kNone ? Cell::Null() : Cell::Number(store.streams[stream]);
}
/// PyTorch names a pool by two numbers; one column for each.
inline Cell PoolFirstCell(const Store& store, uint32_t pool) {
  return pool == kNone ? Cell::Null() : Cell::Number(store.pools[pool].first);
}
inline Cell PoolSecondCell(const Store& store, uint32_t pool) {
  return pool == kNone ? Cell::Null() : Cell::Number(store.pools[pool].second);
}
inline Cell HeapCell(const Heap* heap) { return heap == nullptr ? Cell::Null() : Cell::Text(heap->id); }

}  // namespace memstrata
