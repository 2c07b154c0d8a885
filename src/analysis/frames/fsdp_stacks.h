#pragma once
// Which call stacks go through PyTorch's FSDP.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// By stack. cost: O(frames + stack nodes)
std::vector<bool> FindFsdpStacks(const Store& store);

}  // namespace memstrata
