#pragma once
// The calls of a generation, known by the cache that grows with each of them; no stacks are needed.

#include <cstdint>
#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// One request: its caches grow side by side.
struct GenerationRequest {
  /// First events of its calls of the model: the prefill, then the decodes. The first is where the least is live since
  /// the request before, the others where the least is live between two calls.
  std::vector<uint32_t> call_begins;
};

/// Requests in order, of those that run at the same time the one with the most caches. Requests of fewer than three
/// tokens, or five where two caches or three are all, are not seen. Empty where `phases` show a backward. cost:
/// O(events)
std::vector<GenerationRequest> FindGenerations(const Store& store, const Heap& heap, const std::vector<Phase>& phases);

/// Turns the calls of several requests into prefills and decodes.
void MarkRequests(const std::vector<GenerationRequest>& requests, Timeline& timeline);

}  // namespace memstrata
