#pragma once
// A stack, and a holder of memory, in one line of text.

#include <string>

#include "query/summary.h"

namespace memstrata {

/// "silu in forward  nn/model.py:54 ← forward  nn/model.py:71" in at most `width` columns: the operator of the
/// framework, the frame that tells most (see UsefulFrameIndex()), and the user's own caller where it fits. `stack` must
/// not be the empty one.
std::string DescribeStack(const Store& store, StackId stack, size_t width);

/// What a row of a summary's table of holders is, in at most `width` columns.
std::string DescribeHolder(const Store& store, const Heap& heap, const Holder& holder, size_t width);

}  // namespace memstrata
