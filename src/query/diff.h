#pragma once
// The answer to "what does this run hold that the other one does not": the data of `memstrata diff`. The fields are
// those of docs/reference/json/diff.schema.json.

#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "base/result.h"

namespace memstrata {

struct HeapDiffAnswer {
  std::string id;
  HeapDiff diff;
};

struct DiffAnswer {
  const Store* before = nullptr;
  const Store* after = nullptr;
  std::vector<HeapDiffAnswer> heaps;     // those that both recordings have
  std::vector<std::string> only_before;  // ids of heaps without a counterpart
  std::vector<std::string> only_after;
};

/// errors: kInvalidArgument when the two have no heap in common, or not the one asked for (`heap`; empty = all)
/// cost: O(events + allocations log allocations) of both
Result<DiffAnswer> Diff(const Store& before, const Store& after, const std::string& heap);

}  // namespace memstrata
