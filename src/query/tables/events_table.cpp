#include "query/tables/tables.h"

namespace memstrata {
namespace {

const Heap* HeapOf(const Store& store, uint32_t row) { return HeapOfRow(store, &Heap::events, row); }

// Alloc, free and segment events lie at an address; a mark may.
bool HasAddress(EventKind kind) {
  return kind != EventKind::kOutOfMemory && kind != EventKind::kSnapshot && kind != EventKind::kUnknown;
}

constexpr TableColumn kColumns[] = {
    {"row", CellType::kUnsigned, "Row of this table",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"heap", CellType::kText, "Heap of the event",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOf(c.store, row)); }},
    {"seq", CellType::kUnsigned, "Position among the events of its heap, from 0, in recorded order",
     [](const TableContext& c, uint32_t row) {
       const Heap* heap = HeapOf(c.store, row);
       return heap == nullptr ? Cell::Null() : Cell::Number(row - heap->events.begin);
     }},
    {"time_ns", CellType::kSigned, "Nanoseconds since the Unix epoch",
     [](const TableContext& c, uint32_t row) {
       return c.store.events.time_ns.empty() ? Cell::Null() : Cell::Time(c.store.events.time_ns[row]);
     }},
    {"kind", CellType::kText,
     "alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap, oom, snapshot, "
     "mark, unknown",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kEventKindNames[static_cast<size_t>(c.store.events.kind[row])]);
     }},
    {"addr", CellType::kAddress, "Address of the block or segment",
     [](const TableContext& c, uint32_t row) {
       return HasAddress(c.store.events.kind[row]) ? Cell::Number(c.store.events.addr[row]) : Cell::Null();
     }},
    {"size_bytes", CellType::kUnsigned, "Bytes as requested; of a segment event, its size",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.events.size_bytes[row]); }},
    {"device_free_bytes", CellType::kUnsigned, "Of an oom event: bytes that the driver reported as free",
     [](const TableContext& c, uint32_t row) {
       return c.store.events.kind[row] == EventKind::kOutOfMemory ? Cell::Bytes(c.store.events.addr[row])
                                                                  : Cell::Null();
     }},
    {"stream", CellType::kAddress, "Raw handle of the stream",
     [](const TableContext& c, uint32_t row) { return StreamCell(c.store, c.store.events.stream[row]); }},
    {"pool_first", CellType::kUnsigned, "First number of the pool's id",
     [](const TableContext& c, uint32_t row) {
       return c.store.events.pool.empty() ? Cell::Null() : PoolFirstCell(c.store, c.store.events.pool[row]);
     }},
    {"pool_second", CellType::kUnsigned, "Second number of the pool's id",
     [](const TableContext& c, uint32_t row) {
       return c.store.events.pool.empty() ? Cell::Null() : PoolSecondCell(c.store, c.store.events.pool[row]);
     }},
    {"stack_id", CellType::kUnsigned, "Row of the stacks table; 0 = no stack",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.events.stack[row].value); }},
    {"allocation", CellType::kUnsigned, "Row of the allocations table, of alloc and free events",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.events.allocation[row]); }},
    {"compile_context", CellType::kText, "Compiled region that was active",
     [](const TableContext& c, uint32_t row) {
       if (c.store.events.context.empty() || c.store.events.context[row] == kNone) return Cell::Null();
       const std::string_view text = c.store.String(c.store.contexts[c.store.events.context[row]].compile_context);
       return text.empty() ? Cell::Null() : Cell::Text(text);
     }},
    {"user_metadata", CellType::kText, "Label that the program had set",
     [](const TableContext& c, uint32_t row) {
       if (c.store.events.context.empty() || c.store.events.context[row] == kNone) return Cell::Null();
       const std::string_view text = c.store.String(c.store.contexts[c.store.events.context[row]].user_metadata);
       return text.empty() ? Cell::Null() : Cell::Text(text);
     }},
    {"phase", CellType::kText, "Phase of the program, as analysed",
     [](const TableContext& c, uint32_t row) {
       return c.derived.event_phase.empty() || c.derived.event_phase[row].empty()
                  ? Cell::Null()
                  : Cell::Text(c.derived.event_phase[row]);
     }},
    {"step", CellType::kUnsigned, "Step of the program, as analysed",
     [](const TableContext& c, uint32_t row) {
       return c.derived.event_step.empty() ? Cell::Null() : Cell::Row(c.derived.event_step[row]);
     }},
};

}  // namespace

const TableInfo kEventsTable = {
    .name = "events",
    .doc = "One row is one allocator event.",
    .columns = kColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.events.size()); },
    .heap_of = HeapOf,
};

}  // namespace memstrata
