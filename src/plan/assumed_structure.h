#pragma once
// Bounds of a plan whose model is a guess.

#include "plan/plan.h"

namespace memstrata::plan {

/// Marks every line of the framework as assumed and widens its bounds by the constant "assumed_structure". What does
/// not depend on the model (the driver's context, communicators, assets) stays.
void WidenToAssumed(DevicePlan& device);
/// The same for lines of the host or of storage; processes do not depend on the model.
void WidenToAssumed(std::vector<Line>& lines);

}  // namespace memstrata::plan
