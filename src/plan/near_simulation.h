#pragma once
// Steps that are not simulated themselves but differ from one that is by their optimizer or by a compiler.

#include "plan/plan.h"

namespace memstrata::plan {

/// True when the request becomes one that can be simulated by another optimizer and without a compiler.
bool IsNearSimulation(const PlanRequest& request);
/// The simulated step of that request, with the states of this one's optimizer and, compiled, the share of activations
/// and scores that closed forms give a compiled layer. Its bounds are those of closed forms.
DevicePlan NearSimulatedDevice(const PlanRequest& request);

}  // namespace memstrata::plan
