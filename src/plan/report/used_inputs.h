#pragma once
// Which inputs a plan's figures depend on: an assumption that changes nothing is not shown.

#include <string_view>

#include "plan/plan.h"

namespace memstrata::plan {

/// `input`: a name of EffectiveInputs(). Inputs that were given are used, whatever they change.
bool IsUsed(const Plan& plan, std::string_view input);

}  // namespace memstrata::plan
