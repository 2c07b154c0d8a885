#pragma once
// The module that each block belongs to, as a text: "model.py:71[17]/block.py:28/linear.py".
//
// A path lists the places in the program from which modules were called, the outermost first, without the call of the
// model itself; "[17]" says that the call was the 18th from that place in its forward. The last part is the file of the
// framework's module that made the block, where it was one. A block whose stack does not name its module, but whose
// layer is proved (layer_order.h), has the path down to the layer.

#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

/// A place from which modules are called again and again in one forward.
struct LayerLoop {
  std::string place;         // the path down to it
  StackId call{0};           // the stack down to where the calls start over
  uint32_t layer_count = 0;  // most calls in one forward
};

struct ModulePaths {
  std::vector<std::string> texts;      // [0] is empty: not known
  std::vector<uint32_t> path_of_row;   // [allocation row - heap.allocations.begin], index into texts
  std::vector<uint32_t> layer_of_row;  // number of the layer, kNone: not known
  std::vector<uint32_t> loop_of_row;   // index into loops, kNone: not known
  std::vector<LayerLoop> loops;        // in the order in which blocks are first seen in them
};

/// cost: O(events + stack nodes + allocations · modules on the stack)
ModulePaths FindModulePaths(const Store& store, const Heap& heap, const Timeline& timeline,
                            std::span<const Category> categories);

}  // namespace memstrata
