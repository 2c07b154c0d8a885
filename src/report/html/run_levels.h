#pragma once
// Of a run that a report keeps in part: what is known of all its events and blocks.

#include <string>

#include "query/session_index.h"

namespace memstrata {

/// Frame "run_levels": bytes live, in blocks, waiting and reserved at up to `most` events: of each part of the run the
/// highest and the last one. With them how much was allocated and freed until then, and what was allocated in all under
/// each stack and of each category.
/// cost: O(events + allocations log most)
std::string LevelsFrame(SessionIndex& session, HeapEntry& heap, uint32_t most);

}  // namespace memstrata
