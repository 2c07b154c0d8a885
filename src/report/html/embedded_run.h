#pragma once
// The run of a heap inside a report file: whole where it fits, else the blocks that matter most and the figures of as
// many events as fit.

#include <string>
#include <vector>

#include "query/session_index.h"
#include "report/html/embedded_answers.h"

namespace memstrata {

/// What was kept.
struct EmbeddedRun {
  std::string heap_id;
  uint32_t block_count = 0;   // of the heap
  uint32_t kept_blocks = 0;   // all of them: every event has its figures
  uint32_t event_count = 0;   // of the heap
  uint32_t kept_figures = 0;  // events with figures
  bool lacks_addresses = false;
  bool lacks_times = false;

  bool IsWhole() const { return kept_blocks == block_count; }
};

/// Sentences that say what was left out; none of a whole run.
std::vector<std::string> NotesOf(const EmbeddedRun& run);

/// Adds the frames run, run_addresses, run_times and run_levels of the heap, of at most `most_bytes` together.
/// cost: O(events + allocations), packed once, up to five times where it does not fit
EmbeddedRun AddRunOf(SessionIndex& session, HeapEntry& heap, uint64_t most_bytes, EmbeddedAnswers& answers);

}  // namespace memstrata
