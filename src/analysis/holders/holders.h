#pragma once
// Who holds the memory that is live at a moment, largest first.

#include <span>
#include <string>
#include <vector>

#include "analysis/category/category.h"
#include "analysis/layers/module_paths.h"
#include "model/store/moment.h"

namespace memstrata {

enum class HolderKey : uint8_t {
  kStack,  // blocks without a stack by category
  kFunction,
  kFile,
  kModule,
  kCategory,
};
inline constexpr std::string_view kHolderKeyNames[] = {"stack", "function", "file", "module", "category"};

struct Holder {
  uint64_t bytes = 0;
  uint64_t block_count = 0;
  Category category = Category::kUnknown;  // of most of its bytes
  std::string name;                        // function, file, module or category; empty by stack
  StackId stack{0};                        // of its largest block
  bool is_preexisting = false;             // no stack because it was allocated before recording began
  bool is_other = false;                   // the sum of everything smaller
};

/// At most `top_count` rows and, when there are more, a last row "other": the sum over rows is exactly the live bytes.
/// `categories` is what Categorize() says of the heap, `modules` what FindModulePaths() does, for kModule alone; blocks
/// of no known module are then put together by category. cost: O(allocations + stacks)
std::vector<Holder> FindHolders(const Store& store, const Heap& heap, std::span<const Category> categories, Moment at,
                                HolderKey key, size_t top_count, const ModulePaths* modules = nullptr);

}  // namespace memstrata
