#pragma once
// What is said of a heap that a recording does not hold.

#include <string_view>

#include "base/result.h"
#include "model/store/store.h"

namespace memstrata {

/// kInvalidArgument; the message lists the heaps that there are.
tl::unexpected<Error> NoSuchHeap(const Store& store, std::string_view id);

}  // namespace memstrata
