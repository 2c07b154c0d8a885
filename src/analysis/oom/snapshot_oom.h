#pragma once
// Why an allocation of a recorded program failed: what was asked for, what lay idle and where, who held the rest, and
// the smallest single change that would have fitted, in bytes.

#include <span>
#include <string>
#include <vector>

#include "analysis/holders/holders.h"
#include "analysis/kept_analyses.h"
#include "model/store/store.h"
#include "oom/oom_report.h"

namespace memstrata {

struct SnapshotOom {
  OomReport report;
  const Heap* heap = nullptr;
  uint32_t seq = 0;
  size_t replay_begin = 0;  // report.remedies from here on are settings, by replay
  std::string cause;        // why nothing fitted: one sentence, the last of report.text
  uint64_t reserved_bytes = 0;
  uint64_t idle_kind_bytes[4] = {};  // by HoleKind
  std::vector<Holder> holders;       // of the live bytes then, largest first, "other" last
};

/// Which remedies are replayed: a replay costs more than all else.
enum class OomReplays : uint8_t { kNoReplay, kUntilOneFits, kAll };

/// Failures at the given events of an analysed heap. cost: O(events + allocations log allocations), and a replay for
/// each remedy
std::vector<SnapshotOom> ExplainFailures(const HeapAnalysis& analysis, std::span<const uint32_t> failure_seqs,
                                         OomReplays replays = OomReplays::kAll);

/// The last `most_count` failures of a heap; how many come before them is added to `left_out_count`.
/// cost: O(events + allocations log allocations), and a replay for each remedy
std::vector<SnapshotOom> ExplainFailures(KeptAnalyses& analyses, const Heap& heap, size_t most_count,
                                         uint64_t& left_out_count);

}  // namespace memstrata
