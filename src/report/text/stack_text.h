#pragma once
// A stack in one line of text.

#include <string>

#include "model/store/store.h"

namespace memstrata {

/// "silu in forward  nn/model.py:54 ← forward  nn/model.py:71" in at most `width` columns: the operator of the
/// framework, the frame that tells most (see UsefulFrameIndex()), and the user's own caller where it fits. `stack` must
/// not be the empty one.
std::string DescribeStack(const Store& store, StackId stack, size_t width);

}  // namespace memstrata
