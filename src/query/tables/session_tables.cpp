// The small tables: what the session consists of, stacks and named ranges.

#include "query/tables/tables.h"

namespace memstrata {
namespace {

const Heap* NoHeap(const Store&, uint32_t) { return nullptr; }
const Heap* HeapOfSpan(const Store& store, uint32_t row) {
  return store.spans.heap[row] == kNone ? nullptr : &store.heaps[store.spans.heap[row]];
}

constexpr TableColumn kSpanColumns[] = {
    {"name", CellType::kText, "Name of the range",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.String(c.store.spans.name[row])); }},
    {"kind", CellType::kText, "annotation, step, phase, module, kernel",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kSpanKindNames[static_cast<size_t>(c.store.spans.kind[row])]);
     }},
    {"heap", CellType::kText, "Heap that it is of",
     [](const TableContext& c, uint32_t row) { return HeapCell(HeapOfSpan(c.store, row)); }},
    {"begin_ns", CellType::kSigned, "Its start; empty when not recorded",
     [](const TableContext& c, uint32_t row) { return Cell::Time(c.store.spans.begin_ns[row]); }},
    {"end_ns", CellType::kSigned, "Its end; empty when not recorded",
     [](const TableContext& c, uint32_t row) { return Cell::Time(c.store.spans.end_ns[row]); }},
    {"begin_seq", CellType::kUnsigned, "First event in it",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.spans.begin_seq[row]); }},
    {"end_seq", CellType::kUnsigned, "One after the last event in it",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.spans.end_seq[row]); }},
    {"depth", CellType::kUnsigned, "Nesting, 0 = outermost",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.spans.depth[row]); }},
    {"track", CellType::kUnsigned, "Device or line of the source",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.spans.track[row]); }},
};

constexpr TableColumn kStackColumns[] = {
    {"stack_id", CellType::kUnsigned, "Row of this table; 0 is the root, no stack",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"parent", CellType::kUnsigned, "The caller, another row of this table",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.stacks.stacks().parent[row].value); }},
    {"frame", CellType::kUnsigned, "Row of the frames table",
     [](const TableContext& c, uint32_t row) { return Cell::Row(c.store.stacks.stacks().frame[row].value); }},
    {"depth", CellType::kUnsigned, "Frames from here to the outermost",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.stacks.stacks().depth[row]); }},
};

constexpr std::string_view kFrameKindNames[] = {"unknown", "python", "native", "compiled"};
constexpr TableColumn kFrameColumns[] = {
    {"frame", CellType::kUnsigned, "Row of this table",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"function", CellType::kText, "Function name",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(c.store.String(c.store.stacks.frames().function[row]));
     }},
    {"file", CellType::kText, "File name",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.String(c.store.stacks.frames().file[row])); }},
    {"line", CellType::kUnsigned, "Line; empty when not known",
     [](const TableContext& c, uint32_t row) {
       const uint32_t line = c.store.stacks.frames().line[row];
       return line == 0 ? Cell::Null() : Cell::Number(line);
     }},
    {"kind", CellType::kText, "python, native, compiled, unknown",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kFrameKindNames[static_cast<size_t>(c.store.stacks.frames().kind[row])]);
     }},
    {"detail", CellType::kText, "What a compiled frame says of its origin",
     [](const TableContext& c, uint32_t row) {
       const StringId detail = c.store.stacks.frames().detail[row];
       return detail.value == 0 ? Cell::Null() : Cell::Text(c.store.String(detail));
     }},
};

constexpr TableColumn kHeapColumns[] = {
    {"heap", CellType::kText, "Id of the heap",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.heaps[row].id); }},
    {"allocator", CellType::kText, "Allocator that owns it",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.heaps[row].allocator); }},
    {"kind", CellType::kText, "device or host",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kHeapKindNames[static_cast<size_t>(c.store.heaps[row].kind)]);
     }},
    {"time_base", CellType::kText, "unix or capture",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kTimeBaseNames[static_cast<size_t>(c.store.heaps[row].time_base)]);
     }},
    {"capacity_bytes", CellType::kUnsigned, "Size of the device",
     [](const TableContext& c, uint32_t row) { return Cell::Bytes(c.store.heaps[row].capacity_bytes); }},
    {"event_count", CellType::kUnsigned, "Events",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.heaps[row].events.size()); }},
    {"allocation_count", CellType::kUnsigned, "Rows of the allocations table",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.heaps[row].allocations.size()); }},
    {"source", CellType::kUnsigned, "Row of the sources table",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.heaps[row].source); }},
};

constexpr TableColumn kSourceColumns[] = {
    {"source", CellType::kUnsigned, "Row of this table",
     [](const TableContext&, uint32_t row) { return Cell::Number(row); }},
    {"file", CellType::kText, "As named by the user",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.sources[row].file); }},
    {"format", CellType::kText, "Id of the reader",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.sources[row].format); }},
    {"size_bytes", CellType::kUnsigned, "Size of the file",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.sources[row].size_bytes); }},
    {"truncated", CellType::kBool, "Whether only a part could be read",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.sources[row].truncated ? 1 : 0); }},
};

constexpr TableColumn kDiagnosticColumns[] = {
    {"severity", CellType::kText, "info, warning, data_loss, error",
     [](const TableContext& c, uint32_t row) {
       return Cell::Text(kSeverityNames[static_cast<size_t>(c.store.diagnostics[row].severity)]);
     }},
    {"code", CellType::kText, "Stable name of the problem",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.diagnostics[row].code); }},
    {"count", CellType::kUnsigned, "How often",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.diagnostics[row].count); }},
    {"first_offset", CellType::kUnsigned, "First byte in the unpacked file",
     [](const TableContext& c, uint32_t row) { return Cell::Bytes(c.store.diagnostics[row].first_offset); }},
    {"source", CellType::kUnsigned, "Row of the sources table",
     [](const TableContext& c, uint32_t row) { return Cell::Number(c.store.diagnostics[row].source); }},
    {"text", CellType::kText, "A sentence",
     [](const TableContext& c, uint32_t row) { return Cell::Text(c.store.diagnostics[row].text); }},
};

}  // namespace

const TableInfo kSpansTable = {"spans", "One row is one named range of time.", kSpanColumns,
                               [](const Store& store) { return static_cast<uint32_t>(store.spans.size()); },
                               HeapOfSpan};
const TableInfo kStacksTable = {
    "stacks", "One row is one node of the tree of call stacks; a stack is its innermost node.", kStackColumns,
    [](const Store& store) { return static_cast<uint32_t>(store.stacks.stacks().size()); }, NoHeap};
const TableInfo kFramesTable = {"frames", "One row is one source location.", kFrameColumns,
                                [](const Store& store) { return static_cast<uint32_t>(store.stacks.frames().size()); },
                                NoHeap};
const TableInfo kHeapsTable = {"heaps", "One row is one memory space of one allocator.", kHeapColumns,
                               [](const Store& store) { return static_cast<uint32_t>(store.heaps.size()); }, NoHeap};
const TableInfo kSourcesTable = {"sources", "One row is one input file.", kSourceColumns,
                                 [](const Store& store) { return static_cast<uint32_t>(store.sources.size()); },
                                 NoHeap};
const TableInfo kDiagnosticsTable = {
    "diagnostics", "One row is one kind of problem that reading went on after.", kDiagnosticColumns,
    [](const Store& store) { return static_cast<uint32_t>(store.diagnostics.size()); }, NoHeap};

}  // namespace memstrata
