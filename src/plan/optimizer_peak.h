#pragma once
// The step of the optimizer and PyTorch's data parallelism, in closed forms.

#include "plan/plan.h"

namespace memstrata::plan {

/// PyTorch's data parallelism copies gradients into buckets, which stay.
void AddBuckets(const PlanRequest& request, DevicePlan& device);

/// Where the optimizer's step needs more than the backward, what works in the backward is gone by then, and the lines
/// become those of the step. Sets the phase of the peak.
void UseOptimizerPeak(const PlanRequest& request, DevicePlan& device);

}  // namespace memstrata::plan
