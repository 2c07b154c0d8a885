#pragma once
// What a page without a server needs to answer questions about any event and any block of a heap itself: its lifetimes,
// with what they hold and where they were made. Form: docs/reference/api.md section 8; reader:
// ui/src/data/run_store.ts.

#include <span>
#include <string>
#include <vector>

#include "query/session_index.h"

namespace memstrata {

/// Frame "run": the blocks of `rows` (of the allocation table, rising), the stacks and frames of all of them, steps and
/// phases, and every event that is not about a block. `rows` may be a part; then only questions about these blocks can
/// be answered.
/// cost: O(events + allocations)
std::string RunFrame(SessionIndex& session, HeapEntry& heap, std::span<const uint32_t> rows);

/// Frame "run_addresses": where these blocks lay, and the segments.
std::string AddressFrame(SessionIndex& session, HeapEntry& heap, std::span<const uint32_t> rows);

/// Frame "run_times": the time of every event. Nothing to be read from it without times.
std::string TimesFrame(HeapEntry& heap);

/// The rows that say most about the run, `most` at the most and rising: the largest bytes × events.
std::vector<uint32_t> WeightiestRows(const HeapEntry& heap, size_t most);

}  // namespace memstrata
