#pragma once
// Budgets of an engine that serves a model: weights, the cache of all sessions, the engine's working memory.

#include "plan/plan.h"

namespace memstrata::plan {

/// One device of a pipeline stage of one replica.
DevicePlan ServingDevice(const PlanRequest& request, int64_t stage);
/// True where llama.cpp keeps the table of tokens in host memory, as it does on cards with memory of their own.
bool KeepsTableInHost(const Workload& workload, const std::optional<Card>& card);
/// What an engine gives to its cache on one device: the usable share of the card minus everything else. Tokens are in
/// whole pages, of all ranks that share a session's cache.
struct CachePool {
  uint64_t bytes = 0;
  uint64_t low_bytes = 0;
  uint64_t high_bytes = 0;
  int64_t tokens = 0;
};
std::optional<CachePool> PoolOf(const PlanRequest& request, const DevicePlan& device);

}  // namespace memstrata::plan
