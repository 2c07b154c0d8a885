#pragma once
// By what allocations are put together: stack, function, file, folder, category, type and shape, size or lifetime.

#include <string>
#include <vector>

#include "analysis/category/category.h"
#include "analysis/frames/useful_frames.h"
#include "index/heap_index.h"
#include "index/stack_layout.h"

namespace memstrata {

enum class GroupBy : uint8_t { kCategory, kStack, kModule, kFile, kFunction, kShape, kSize, kLifetime };
inline constexpr std::string_view kGroupByNames[] = {"category", "stack", "module", "file",
                                                     "function", "shape", "size",   "lifetime"};
/// The first six can also be summed up as holders.
inline constexpr size_t kHolderGroupByCount = 6;

/// A text for each stack: what `by` makes of it.
struct StackKeys {
  std::vector<uint32_t> key_of_stack;
  std::vector<uint32_t> key_of_row;  // by allocation; empty: the key of its stack
  std::vector<std::string> texts;    // by key; of kStack: the label of the stack
  std::vector<std::string> labels;   // short form for people
};

/// Keys 0 and 1 are blocks without a stack.
inline constexpr uint32_t kNoStackKey = 0;
inline constexpr uint32_t kPreexistingKey = 1;

/// `by` is kStack, kModule, kFile or kFunction. cost: O(stacks)
StackKeys MakeStackKeys(const Store& store, const UsefulFrames& useful, GroupBy by);

/// A key for each allocation: the data type and shape that an XLA profile names ("half [4,16,384,384]").
/// cost: O(allocations)
StackKeys MakeShapeKeys(const Store& store);
/// Whether the source of a heap names data types and shapes. cost: O(events)
bool HasShapes(const Store& store, const Heap& heap);

/// The key of an allocation by its stack, also of one without a stack.
uint32_t KeyOfStack(const AllocationTable& table, const StackKeys& keys, uint32_t row);
/// The key of an allocation.
uint32_t KeyOfStackedRow(const AllocationTable& table, const StackKeys& keys, uint32_t row);

/// The folder of a file, shortened to its last two parts; the file itself where it has none.
std::string ModuleOf(std::string_view file);

/// Name of a stack for people: the function of its useful frame, and the framework's function that it called:
/// "cross_entropy in compute_loss".
std::string StackLabel(const Store& store, const UsefulFrames& useful, StackId stack);
/// "model.py:42 ← caller": place of the useful frame and who called it. Empty for the empty stack and for an operation
/// of a compiled program, which has no file.
std::string StackPlace(const Store& store, const UsefulFrames& useful, StackId stack);

struct Group {
  std::string key;
  std::string label;
  uint64_t bytes_at_peak = 0;
};

/// At most 14 groups of a heap, from the bottom of the stack up, and each allocation's group.
struct Grouping {
  std::vector<Group> groups;
  RowGroups rows;
};

/// `category_of_row` and `keys` as `by` needs them; else they may be empty. cost: O(allocations)
Grouping MakeGrouping(HeapIndex& index, GroupBy by, const std::vector<Category>& category_of_row,
                      const StackKeys& keys);

}  // namespace memstrata
