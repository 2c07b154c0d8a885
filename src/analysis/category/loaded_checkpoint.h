#pragma once
// Which blocks a checkpoint that was loaded before the first step left on the device.

#include <vector>

#include "analysis/category/category.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Rows in order of making; blocks of a scalar are left out.
struct LoadedCheckpoint {
  std::vector<uint32_t> weight_rows;  // second copies of the weights: the model has its own
  std::vector<uint32_t> state_rows;   // of the optimizer, which uses the loaded blocks themselves
};

/// A loaded block stays until the last step. With stacks it is one that torch.load or safetensors made; without, one
/// made before the first step. Runs of loaded blocks with the sizes of nearly all weights are copies of them. What is
/// left, if it has one, two or three blocks for each gradient of a step, of the same size, is the optimizer's state,
/// unless the updates make a state. One run that fits both is the state. `categories` is indexed as Categorize returns
/// it, before or after MarkLoadedCheckpoint. cost: O(events + allocations)
LoadedCheckpoint FindLoadedCheckpoint(const Store& store, const Heap& heap, const Timeline& timeline,
                                      const std::vector<Category>& categories);

/// States of the optimizer become such; copies of weights are of unknown kind.
void MarkLoadedCheckpoint(const Store& store, const Heap& heap, const Timeline& timeline,
                          std::vector<Category>& categories);

}  // namespace memstrata
