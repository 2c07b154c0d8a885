#include <cmath>

#include "query/tables/tables.h"

namespace memstrata {
namespace {

const Heap* HeapOf(const Store& store, uint32_t row) { return HeapOfRow(store, &Heap::events, row); }

bool IsKnown(const TableContext& c, uint32_t row) { return c.store.xplane.events.line[row] != kNone; }

Cell TextCell(const TableContext& c, uint32_t row, const Column<StringId>& column) {
  const std::string_view text = IsKnown(c, row) ? c.store.String(column[row]) : std::string_view();
  return text.empty() ? Cell::Null() : Cell::Text(text);
}

Cell BytesCell(const TableContext& c, uint32_t row, const Column<uint64_t>& column) {
  return IsKnown(c, row) ? Cell::Bytes(column[row]) : Cell::Null();
}

constexpr TableColumn kEventColumns[] = {
    {"heap", CellType::kText, "Heap of the event",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOf(c.store, row)); }},
    {"event", CellType::kUnsigned, "Row of the events table",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"time_ps", CellType::kSigned, "Picoseconds since the profiler's time zero",
     [](const TableContext& c, uint32_t row) {
       return IsKnown(c, row) ? Cell::Signed(c.store.xplane.events.time_ps[row]) : Cell::Null();
     }},
    {"thread", CellType::kText, "Line of the host plane that has the event",
     [](const TableContext& c, uint32_t row) {
       return IsKnown(c, row) ? Cell::Text(c.store.String(c.store.xplane.lines[c.store.xplane.events.line[row]].name))
                              : Cell::Null();
     }},
    {"kind", CellType::kText, "alloc, free_completed",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kEventKindNames[static_cast<size_t>(c.store.events.kind[row])]);
     }},
    {"stack_bytes", CellType::kUnsigned, "Reserved for the running program",
     [](const TableContext& c, uint32_t row) { return BytesCell(c, row, c.store.xplane.events.stack_bytes); }},
    {"heap_bytes", CellType::kUnsigned, "Handed out after the event",
     [](const TableContext& c, uint32_t row) { return BytesCell(c, row, c.store.xplane.events.heap_bytes); }},
    {"free_bytes", CellType::kUnsigned, "Limit of the allocator less stack and heap",
     [](const TableContext& c, uint32_t row) { return BytesCell(c, row, c.store.xplane.events.free_bytes); }},
    {"fragmentation_ppm", CellType::kUnsigned,
     "Millionths of the free bytes that do not lie in the largest free piece; null where nothing is free",
     [](const TableContext& c, uint32_t row) {
       const XPlaneEventTable& events = c.store.xplane.events;
       const bool is_share =
           IsKnown(c, row) && events.nan[row] == 0 && events.fragmentation[row] >= 0 && events.fragmentation[row] <= 1;
       return is_share ? Cell::Number(static_cast<uint64_t>(std::llround(events.fragmentation[row] * 1e6)))
                       : Cell::Null();
     }},
    {"lifetime_peak_bytes", CellType::kUnsigned, "Highest heap since the allocator was made",
     [](const TableContext& c, uint32_t row) { return BytesCell(c, row, c.store.xplane.events.peak_bytes); }},
    {"requested_bytes", CellType::kUnsigned, "Bytes asked for, before rounding",
     [](const TableContext& c, uint32_t row) { return BytesCell(c, row, c.store.xplane.events.requested_bytes); }},
    {"allocation_bytes", CellType::kUnsigned, "Bytes of the block",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.events.size_bytes[row]); }},
    {"op", CellType::kText, "Operation that allocates",
     [](const TableContext& c, uint32_t row) { return TextCell(c, row, c.store.xplane.events.op); }},
    {"region_type", CellType::kText, "temp, output, persist …, as written",
     [](const TableContext& c, uint32_t row) { return TextCell(c, row, c.store.xplane.events.region); }},
    {"data_type", CellType::kText, "Type of the elements",
     [](const TableContext& c, uint32_t row) { return TextCell(c, row, c.store.xplane.events.data_type); }},
    {"shape", CellType::kText, "Shape of the tensor, as written",
     [](const TableContext& c, uint32_t row) { return TextCell(c, row, c.store.xplane.events.shape); }},
    {"step_id", CellType::kSigned, "Step of the profiler",
     [](const TableContext& c, uint32_t row) {
       const bool known = IsKnown(c, row) && c.store.xplane.events.step[row] != kNoStep;
       return known ? Cell::Signed(c.store.xplane.events.step[row]) : Cell::Null();
     }},
};

constexpr TableColumn kRunColumns[] = {
    {"module", CellType::kText, "Program, as the profiler names its run",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.String(c.store.xplane.modules[row].name)); }},
    {"plane", CellType::kText, "Device that ran it",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.String(c.store.xplane.modules[row].plane)); }},
    {"source", CellType::kUnsigned, "Row of the sources table",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.xplane.modules[row].source); }},
    {"begin_ps", CellType::kSigned, "Picoseconds since the profiler's time zero",
     [](const TableContext& c, uint32_t row) {
       const XPlaneModule& run = c.store.xplane.modules[row];
       return Cell::Signed(run.line_begin_ps + run.offset_ps);
     }},
    {"duration_ps", CellType::kSigned, "Picoseconds",
     [](const TableContext& c, uint32_t row) { return Cell::Signed(c.store.xplane.modules[row].duration_ps); }},
};

}  // namespace

const TableInfo kProfileEventsTable = {
    .name = "profile_events",
    .doc = "One row is one allocator event with what an XPlane profile says of it.",
    .columns = kEventColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.xplane.events.size()); },
    .heap_of = HeapOf,
};

const TableInfo kProgramRunsTable = {
    .name = "program_runs",
    .doc = "One row is one run of a compiled program on a device, of an XPlane profile.",
    .columns = kRunColumns,
    .row_count = [](const Store& store) { return static_cast<uint32_t>(store.xplane.modules.size()); },
    .heap_of = [](const Store&, uint32_t) -> const Heap* { return nullptr; },
};

}  // namespace memstrata
