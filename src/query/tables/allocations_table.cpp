#include "analysis/category/category.h"
#include "query/tables/tables.h"

namespace memstrata {
namespace {

const Heap* HeapOf(const Store& store, uint32_t row) { return HeapOfRow(store, &Heap::allocations, row); }

// Row of the event that made the allocation, kNone for blocks that existed before.
uint32_t AllocEventRow(const Store& store, uint32_t row) {
  const Heap* heap = HeapOf(store, row);
  const uint32_t seq = store.allocations.alloc_seq[row];
  return heap == nullptr || seq == kNone ? kNone : heap->events.begin + seq;
}

Cell FlagCell(const TableContext& context, uint32_t row, AllocationFlag flag) {
  return Cell::Number((context.store.allocations.flags[row] & flag) != 0 ? 1 : 0);
}

constexpr TableColumn kColumns[] = {
    {"heap", CellType::kText, "Heap of the block",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOf(c.store, row)); }},
    {"addr", CellType::kAddress, "Address of the block",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.allocations.addr[row]); }},
    {"alloc_seq", CellType::kUnsigned, "Event that allocated it; empty when it existed before the first event",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.allocations.alloc_seq[row]); }},
    {"free_requested_seq", CellType::kUnsigned, "Event at which the program gave it back",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.allocations.free_requested_seq[row]); }},
    {"free_seq", CellType::kUnsigned, "Event at which it stopped being live; empty when it is live at the end",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.allocations.free_seq[row]); }},
    {"size_bytes", CellType::kUnsigned, "Bytes as requested",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.allocations.size_bytes[row]); }},
    {"block_bytes", CellType::kUnsigned, "Bytes of the block that holds it",
     [](const TableContext& c, uint32_t row) { return Cell::Bytes(c.store.allocations.block_bytes[row]); }},
    {"block_is_approximate", CellType::kBool, "Whether block_bytes follows from rounding rules instead of the file",
     [](const TableContext& c, uint32_t row) { return FlagCell(c, row, kBlockApproximate); }},
    {"category", CellType::kText, "What the block is for, as analysed",
     [](const TableContext& c, uint32_t row) {
       return c.derived.allocation_category.empty() ? Cell::Null()
                                                    : Cell::Text(kCategoryNames[c.derived.allocation_category[row]]);
     }},
    {"phase", CellType::kText, "Phase in which it was allocated, as analysed",
     [](const TableContext& c, uint32_t row) {
       const uint32_t event = AllocEventRow(c.store, row);
       return event == kNone || c.derived.event_phase.empty() || c.derived.event_phase[event].empty()
                  ? Cell::Null()
                  : Cell::Text(c.derived.event_phase[event]);
     }},
    {"step", CellType::kUnsigned, "Step in which it was allocated, as analysed",
     [](const TableContext& c, uint32_t row) {
       const uint32_t event = AllocEventRow(c.store, row);
       return event == kNone || c.derived.event_step.empty() ? Cell::Null() : Cell::Row(c.derived.event_step[event]);
     }},
    {"module", CellType::kText, "Module that made it, or its layer, by the calls of its stack; empty when not known",
     [](const TableContext& c, uint32_t row) {
       return c.derived.allocation_module.empty() || c.derived.allocation_module[row] == 0
                  ? Cell::Null()
                  : Cell::Text(c.derived.module_texts[c.derived.allocation_module[row]]);
     }},
    {"layer", CellType::kUnsigned, "Number of its layer among the repeated calls of a forward, from 0",
     [](const TableContext& c, uint32_t row) {
       return c.derived.allocation_layer.empty() ? Cell::Null() : Cell::Row(c.derived.allocation_layer[row]);
     }},
    {"stack_id", CellType::kUnsigned, "Row of the stacks table; 0 = no stack",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.allocations.stack[row].value); }},
    {"free_stack_id", CellType::kUnsigned, "Stack that freed it; 0 = none",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.allocations.free_stack[row].value); }},
    {"stream", CellType::kAddress, "Raw handle of the stream",
     [](const TableContext& c, uint32_t row) { return StreamCell(c.store, c.store.allocations.stream[row]); }},
    {"pool_first", CellType::kUnsigned, "First number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolFirstCell(c.store, c.store.allocations.pool[row]); }},
    {"pool_second", CellType::kUnsigned, "Second number of the pool's id",
     [](const TableContext& c, uint32_t row) { return PoolSecondCell(c.store, c.store.allocations.pool[row]); }},
    {"preexisting", CellType::kBool, "Whether it lived before the first event",
     [](const TableContext& c, uint32_t row) { return FlagCell(c, row, kPreexisting); }},
    {"displaced", CellType::kBool, "Whether it ended because its address was allocated again",
     [](const TableContext& c, uint32_t row) { return FlagCell(c, row, kDisplaced); }},
    {"ghost", CellType::kBool, "Whether it is live by the events, but not in the final state",
     [](const TableContext& c, uint32_t row) { return FlagCell(c, row, kGhost); }},
};

}  // namespace

const TableInfo kAllocationsTable = {
    .name = "allocations",
    .doc = "One row is one lifetime of a block.",
    .columns = kColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.allocations.size()); },
    .heap_of = HeapOf,
};

}  // namespace memstrata
