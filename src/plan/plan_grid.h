#pragma once
// The same plan over the values of several inputs at once: what the sliders of the page move between.

#include "plan/plan.h"

namespace memstrata::plan {

struct GridAxis {
  std::string input;  // as on the command line
  std::string label;
  std::vector<std::string> values;
  size_t given = 0;  // which of them the request itself has
};

/// One combination: its plan, or why there is none.
struct GridCell {
  std::optional<Plan> plan;
  std::string problem;
};

struct PlanGrid {
  Plan given;
  std::vector<GridAxis> axes;
  std::vector<GridCell> cells;  // the last axis turns fastest
};

/// Plans every combination, at most a hundred: batch or sessions, sequence, and recomputing or the cache's width.
Result<PlanGrid> MakeGrid(const PlanRequest& request);

}  // namespace memstrata::plan
