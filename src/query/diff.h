#pragma once
// The answer to "what does this run hold that the other one does not": the data of `memstrata diff`, for two recordings
// or a row of them. The fields are those of docs/reference/json/diff.schema.json.

#include <span>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/regressions.h"
#include "base/result.h"

namespace memstrata {

struct HeapDiffAnswer {
  std::string id;
  HeapDiff diff;
  std::vector<Regression> sentences;
};

struct DiffAnswer {
  std::vector<const Store*> recordings;
  std::vector<HeapDiffAnswer> heaps;     // those that all recordings have
  std::vector<std::string> only_before;  // ids of the first recording's heaps that not all have
  std::vector<std::string> only_after;   // ids of the last one's
};

/// errors: kInvalidArgument when they have no heap in common, or not the one asked for (`heap`; empty = all)
/// cost: O(events + allocations log allocations) of all
Result<DiffAnswer> Diff(std::span<const Store> recordings, const std::string& heap);

}  // namespace memstrata
