#pragma once
// Budgets of an engine that serves a model: weights, the cache of all sessions, the engine's working memory.

#include "plan/plan.h"

namespace memstrata::plan {

DevicePlan ServingDevice(const PlanRequest& request);
/// Tokens that the cache of one device (tensor-parallel group) holds on the card: usable share minus everything else.
std::optional<int64_t> CacheTokens(const PlanRequest& request, const DevicePlan& device);

}  // namespace memstrata::plan
