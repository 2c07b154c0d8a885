#pragma once
// Ways to spread a process over the devices that are there, each planned: what a device then needs and what it costs.

#include "plan/plan.h"

namespace memstrata::plan {

/// Empty unless the workload names more devices than its parallel degrees use. Smallest need of a device first.
std::vector<Strategy> FindStrategies(const PlanRequest& request);

}  // namespace memstrata::plan
