#pragma once
// What an engine has: tasks, formats of weights and of the cache, and degrees of parallelism. Sources: the engines'
// own documentation of their options.

#include "plan/plan.h"

namespace memstrata::plan {

/// kInvalidArgument with a sentence where the engine of the workload has not what the workload asks for.
Status CheckEngine(const PlanRequest& request);

/// True where an engine can hold weights in a format.
bool HoldsWeights(Engine engine, WeightFormat format);

}  // namespace memstrata::plan
