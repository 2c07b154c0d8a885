#pragma once
// `memstrata plan --dryrun`.

#include <vector>

#include "cli/subcommand.h"
#include "plan/plan.h"

namespace memstrata::cli {

/// Runs what was planned on a simulated card and prints the terms of both. `cards` are those that were named; none: an
/// H100. Gives the exit status: 0 it fits, 3 it does not.
Result<int> CompareWithDryRun(plan::PlanRequest request, const std::vector<plan::Card>& cards,
                              const Arguments& arguments, Console& console);

}  // namespace memstrata::cli
