#pragma once
// Budgets of one device from a simulated step (plan/eager): PyTorch with transformers, or a plain no-grad forward and
// generation.

#include "plan/plan.h"

namespace memstrata::plan {

/// True when the workload of this model can be simulated operation by operation on one device.
bool CanSimulate(const ModelDescription& model, const Workload& workload);
/// True for optimizers whose step is simulated: PyTorch's own, and that of transformers.
bool HasSimulatedOptimizer(OptimizerName name);
DevicePlan SimulateDevice(const PlanRequest& request);

}  // namespace memstrata::plan
