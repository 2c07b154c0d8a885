#pragma once
// The same request on several cards: which of them do, with the fewest devices.

#include <vector>

#include "plan/plan.h"

namespace memstrata::plan {

/// A plan for each card. Where one device lacks memory and no degrees were given, 2, 4, … 64 devices are tried: sharded
/// weights and states in training, tensor parallelism else. Those that fit come first, by devices, then by capacity.
/// cost: one plan for each card and number of devices
Result<std::vector<Plan>> RankCards(const PlanRequest& request, const std::vector<Card>& cards);

}  // namespace memstrata::plan
