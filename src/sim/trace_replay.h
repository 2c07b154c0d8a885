#pragma once
// Runs a recorded trace on the allocator model: to check the model against the recording, and to ask what other
// settings or another order would have given.
//
// What a replay takes as given: the requests, the frees and their moments, and calls of empty_cache(). What the model
// decides: the place of each block, every segment, every flush before a failure.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/store/store.h"
#include "sim/caching_allocator.h"

namespace memstrata::sim {

/// How far the model did what the recording says. Where it differed it was put right, so each difference counts once.
struct Agreement {
  uint32_t allocation_count = 0;
  uint32_t same_place_count = 0;  // at the recorded address
  uint32_t driver_call_count = 0;
  uint32_t same_driver_call_count = 0;  // segments asked for and, where the device's limit is known, given back
  uint32_t failure_count = 0;
  uint32_t same_failure_count = 0;  // out of memory where the recording was
  uint32_t final_block_count = 0;
  uint32_t same_final_block_count = 0;    // blocks of the final state with the recorded size
  uint32_t unplaced_count = 0;            // in no known segment: not followed
  uint32_t first_difference_seq = kNone;  // of a place or a call

  bool IsComplete() const {
    return same_place_count == allocation_count && same_driver_call_count == driver_call_count &&
           same_failure_count == failure_count && unplaced_count == 0;
  }
};

/// errors: none; a heap that CanReplay() refuses agrees in nothing. cost: O(events log blocks)
Agreement CompareWithRecording(const Store& store, const Heap& heap);

struct WhatIf {
  AllocatorSettings settings;
  std::optional<uint64_t> limit_bytes;  // nothing = without end
  /// Blocks that are live at this moment are allocated before everything else (kNone: the recorded order).
  uint32_t long_lived_first_seq = kNone;
  uint32_t end_seq = kNone;          // stop behind this event; kNone: run to the end
  bool ends_at_new_failure = false;  // what comes behind an allocation that fails here alone is not asked for
};

struct FailureOutcome {
  uint32_t seq = 0;  // of a recorded out-of-memory event
  bool fits = false;
  uint64_t reserved_bytes = 0;  // then, the request included where it fits
};

struct Outcome {
  uint64_t peak_reserved_bytes = 0;
  uint64_t end_reserved_bytes = 0;
  uint64_t flush_count = 0;
  std::vector<FailureOutcome> failures;    // what becomes of each recorded failure
  uint32_t first_new_failure_seq = kNone;  // an allocation that fails here and did not in the recording
};

/// Blocks from before the recording are allocated first, in order of address: where there are any, the result is an
/// estimate. cost: O(events log blocks)
Outcome ReplayWith(const Store& store, const Heap& heap, const WhatIf& what_if);

}  // namespace memstrata::sim
