#pragma once
// Which call stacks go through code of some kind.

#include <string_view>
#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// By stack: whether the predicate holds for one of its frames. cost: O(frames + stack nodes)
std::vector<bool> FindStacksThrough(const Store& store,
                                    bool (*is_wanted)(std::string_view file, std::string_view function));

}  // namespace memstrata
