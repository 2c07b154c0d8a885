#pragma once
// The largest batch, sequence and concurrency that fit on a card, each with everything else as given.

#include "plan/plan.h"

namespace memstrata::plan {

/// Nothing where even the smallest does not fit, or where the input means nothing for the task.
/// Cost: about 40 plans in all.
Largest FindLargest(const PlanRequest& request);

}  // namespace memstrata::plan
