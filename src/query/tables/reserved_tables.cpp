// The tables of reserved memory: segments, the final state's segments, and its blocks.

#include "query/tables/tables.h"

namespace memstrata {
namespace {

const Heap* HeapOfSegment(const Store& store, uint32_t row) { return HeapOfRow(store, &Heap::segments, row); }
const Heap* HeapOfFinalSegment(const Store& store, uint32_t row) {
  return HeapOfRow(store, &Heap::final_segments, row);
}
const Heap* HeapOfBlock(const Store& store, uint32_t row) { return HeapOfRow(store, &Heap::blocks, row); }

constexpr TableColumn kSegmentColumns[] = {
    {"heap", CellType::kText, "Heap of the range",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOfSegment(c.store, row)); }},
    {"addr", CellType::kAddress, "First address",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.segments.addr[row]); }},
    {"size_bytes", CellType::kUnsigned, "Bytes reserved",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.segments.size_bytes[row]); }},
    {"kind", CellType::kText, "small, large, expandable, unknown",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kSegmentKindNames[static_cast<size_t>(c.store.segments.kind[row])]);
     }},
    {"begin_seq", CellType::kUnsigned, "Event that reserved it; empty when it was reserved before",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.segments.begin_seq[row]); }},
    {"end_seq", CellType::kUnsigned, "Event that released it; empty when it is reserved at the end",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.segments.end_seq[row]); }},
    {"stream", CellType::kAddress, "Raw handle of the stream",
     [](const TableContext& c, uint32_t row) { return StreamCell(c.store, c.store.segments.stream[row]); }},
    {"pool_first", CellType::kUnsigned, "First number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolFirstCell(c.store, c.store.segments.pool[row]); }},
    {"pool_second", CellType::kUnsigned, "Second number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolSecondCell(c.store, c.store.segments.pool[row]); }},
    {"stack_id", CellType::kUnsigned, "Row of the stacks table; 0 = no stack",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.segments.stack[row].value); }},
};

constexpr TableColumn kFinalSegmentColumns[] = {
    {"row", CellType::kUnsigned, "Row of this table",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"heap", CellType::kText, "Heap of the segment",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOfFinalSegment(c.store, row)); }},
    {"addr", CellType::kAddress, "First address",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.final_segments.addr[row]); }},
    {"size_bytes", CellType::kUnsigned, "Bytes of the segment",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.final_segments.size_bytes[row]); }},
    {"kind", CellType::kText, "small, large, expandable, unknown",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kSegmentKindNames[static_cast<size_t>(c.store.final_segments.kind[row])]);
     }},
    {"stream", CellType::kAddress, "Raw handle of the stream",
     [](const TableContext& c, uint32_t row) { return StreamCell(c.store, c.store.final_segments.stream[row]); }},
    {"pool_first", CellType::kUnsigned, "First number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolFirstCell(c.store, c.store.final_segments.pool[row]); }},
    {"pool_second", CellType::kUnsigned, "Second number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolSecondCell(c.store, c.store.final_segments.pool[row]); }},
    {"stack_id", CellType::kUnsigned, "Row of the stacks table; 0 = no stack",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.final_segments.stack[row].value); }},
};

constexpr TableColumn kBlockColumns[] = {
    {"heap", CellType::kText, "Heap of the block",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOfBlock(c.store, row)); }},
    {"segment", CellType::kUnsigned, "Row of the final_segments table",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.blocks.segment[row]); }},
    {"addr", CellType::kAddress, "Address",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.blocks.addr[row]); }},
    {"size_bytes", CellType::kUnsigned, "Bytes of the block",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.blocks.size_bytes[row]); }},
    {"requested_bytes", CellType::kUnsigned, "Bytes as requested, of blocks in use",
     [](const TableContext& c, uint32_t row) { return Cell::Bytes(c.store.blocks.requested_bytes[row]); }},
    {"state", CellType::kText, "active, pending_free, inactive, unknown",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kBlockStateNames[static_cast<size_t>(c.store.blocks.state[row])]);
     }},
    {"allocation", CellType::kUnsigned, "Row of the allocations table, of blocks in use",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.blocks.allocation[row]); }},
    {"stack_id", CellType::kUnsigned, "Row of the stacks table; 0 = no stack",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.blocks.stack[row].value); }},
};

}  // namespace

const TableInfo kSegmentsTable = {
    .name = "segments",
    .doc = "One row is the lifetime of one reserved range.",
    .columns = kSegmentColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.segments.size()); },
    .heap_of = HeapOfSegment,
};
const TableInfo kFinalSegmentsTable = {
    .name = "final_segments",
    .doc = "One row is one segment of the state at the end of the recording.",
    .columns = kFinalSegmentColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.final_segments.size()); },
    .heap_of = HeapOfFinalSegment,
};
const TableInfo kBlocksTable = {
    .name = "blocks",
    .doc = "One row is one block of the state at the end of the recording.",
    .columns = kBlockColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.blocks.size()); },
    .heap_of = HeapOfBlock,
};

}  // namespace memstrata
