#pragma once
// Any table of the store as named columns of cells: what `convert`, the web frames and the reference page are made
// from. One list of columns per table (query/tables/NAME_table.cpp) is the only description of it. Tables are listed in
// query/tables/registry.cpp.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/store/store.h"

namespace memstrata {

/// What analyses say of rows of the store, joined in as columns. An empty vector: not computed, the cells are null.
struct DerivedColumns {
  std::vector<uint8_t> allocation_category;   // → kCategoryNames
  std::vector<std::string> module_texts;      // [0] is empty: not known
  std::vector<uint32_t> allocation_module;    // → module_texts
  std::vector<uint32_t> allocation_layer;     // kNone = not known
  std::vector<std::string_view> event_phase;  // empty text = none
  std::vector<uint32_t> event_step;           // kNone = none
};

enum class CellType : uint8_t {
  kUnsigned,
  kSigned,
  kText,
  kAddress,  // unsigned, shown as 0x…
  kBool,
};
inline constexpr std::string_view kCellTypeNames[] = {"unsigned", "signed", "text", "address", "bool"};

struct Cell {
  bool is_null = true;
  uint64_t bits = 0;      // number, or two's complement of a signed one
  std::string_view text;  // points into the store

  static Cell Null() { return {}; }
  static Cell Number(uint64_t number) { return {false, number, {}}; }
  static Cell Signed(int64_t number) { return {false, static_cast<uint64_t>(number), {}}; }
  static Cell Text(std::string_view text) { return {false, 0, text}; }
  static Cell Row(uint32_t row) { return row == kNone ? Null() : Number(row); }
  static Cell Bytes(uint64_t size_bytes) { return size_bytes == kUnknownBytes ? Null() : Number(size_bytes); }
  static Cell Time(int64_t time_ns) { return time_ns == kNoTime ? Null() : Signed(time_ns); }
};

/// What a cell function may look at.
struct TableContext {
  const Store& store;
  const DerivedColumns& derived;
};

struct TableColumn {
  std::string_view name;  // the unit is its suffix: _bytes, _ns, _seq
  CellType type;
  std::string_view doc;
  Cell (*get)(const TableContext& context, uint32_t row);
};

struct TableInfo {
  std::string_view name;
  std::string_view doc;  // "one row is …"
  std::span<const TableColumn> columns;
  uint32_t (*row_count)(const Store& store);
  /// The heap that a row belongs to, nullptr for tables that are not of a heap.
  const Heap* (*heap_of)(const Store& store, uint32_t row);
};

/// The one list.
std::span<const TableInfo* const> AllTables();
/// kInvalidArgument lists the names there are.
Result<const TableInfo*> FindTable(std::string_view name);

/// The heap whose `range` holds `row`; heaps are in row order. cost: O(log heaps)
const Heap* HeapOfRow(const Store& store, RowRange Heap::*range, uint32_t row);

}  // namespace memstrata
