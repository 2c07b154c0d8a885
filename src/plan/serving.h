#pragma once
// Budgets of an engine that serves a model: weights, the cache of all sessions, the engine's working memory.

#include "plan/plan.h"

namespace memstrata::plan {

DevicePlan ServingDevice(const PlanRequest& request);
/// What an engine gives to its cache on one device: the usable share of the card minus everything else.
struct CachePool {
  uint64_t bytes = 0;
  uint64_t low_bytes = 0;
  uint64_t high_bytes = 0;
  int64_t tokens = 0;
};
std::optional<CachePool> PoolOf(const PlanRequest& request, const DevicePlan& device);

}  // namespace memstrata::plan
