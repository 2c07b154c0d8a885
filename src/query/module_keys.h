#pragma once
// Groups of allocations by the module that made them.

#include <vector>

#include "analysis/category/category.h"
#include "query/grouping.h"

namespace memstrata {

enum class LayerNumbers : uint8_t {
  kKept,  // each layer has keys of its own
  kLeft,  // the same module of all layers is one key: "model.py:71[*]/block.py:28"
};

/// A key for each allocation: its module; its folder where no module is known. cost: as FindModulePaths() + O(stacks)
StackKeys MakeModuleKeys(const Store& store, const UsefulFrames& useful, const std::vector<Category>& category_of_row,
                         LayerNumbers numbers);

}  // namespace memstrata
