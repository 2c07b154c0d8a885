#pragma once
// The answer to "why did this allocation fail, and what single change would have fitted": the data of `memstrata oom`,
// from a snapshot or from a text. The fields are those of docs/reference/json/oom.schema.json.

#include <string>
#include <string_view>
#include <vector>

#include "analysis/oom/snapshot_oom.h"
#include "base/result.h"
#include "oom/oom_report.h"

namespace memstrata {

struct OomAnswer {
  const Store* store = nullptr;       // of a snapshot; nullptr for a text
  std::vector<SnapshotOom> failures;  // of a snapshot, in order
  std::vector<OomReport> messages;    // of a text, in order
  uint64_t left_out_count = 0;        // failures before the kMostFailures last ones

  bool HasFailure() const;
};

/// Failures of a heap that are explained; a program that retries may have thousands.
inline constexpr size_t kMostFailures = 20;

/// Failures of the recording's heaps; of the last kMostFailures of each.
/// errors: kInvalidArgument (no such heap; the message lists them)
/// cost: O(events + allocations log allocations), and a replay for each remedy
Result<OomAnswer> ExplainOutOfMemory(KeptAnalyses& analyses, std::string_view heap);

/// Messages of a text. cost: O(bytes)
OomAnswer ExplainOutOfMemoryText(std::string_view text);

}  // namespace memstrata
