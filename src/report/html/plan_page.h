#pragma once
// A plan as one file without a network: the page's Plan view with every combination of its sliders inside.

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan_grid.h"

namespace memstrata {

/// errors: kNotFound when the program was built without the page
Result<std::string> PlanPage(const plan::PlanGrid& grid, std::string_view version);

}  // namespace memstrata
