#pragma once
// What other settings of the allocator would have given a recorded program, by replay; never only advised.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace_replay.h"

namespace memstrata {

struct ReplayedRemedy {
  std::string setting;  // as it is written into PYTORCH_ALLOC_CONF; "order" for another order of allocation
  sim::Outcome outcome;
};

struct ReplayedRemedies {
  sim::Outcome recorded;     // the replay of the recorded settings
  bool is_faithful = false;  // that replay reserves what the recording says: the others can be believed
  std::vector<ReplayedRemedy> remedies;
};

/// Which settings are worth a replay.
struct ReplayScope {
  uint64_t least_saving_bytes = 0;  // at the peak, of the first, which stays alone where it saves less or nearly all
  uint32_t until_fits_seq = kNone;  // the first in which this failed request fits is the last that is tried
};

/// Whether a failed request would have fitted, and none before it would have failed.
bool Fits(const sim::Outcome& outcome, uint32_t failure_seq);

/// Nothing when the heap cannot be replayed. `limit_bytes`: what the device gives, nothing = without end. Where no
/// setting helps, or one is enough, the recorded ones are not checked. cost: O(events log blocks) for each setting
std::optional<ReplayedRemedies> ReplayRemedies(const Store& store, const Heap& heap,
                                               std::optional<uint64_t> limit_bytes, const ReplayScope& scope = {});

}  // namespace memstrata
