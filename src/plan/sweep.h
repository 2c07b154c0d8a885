#pragma once
// The same plan over several values of one input.

#include "plan/plan.h"

namespace memstrata::plan {

struct SweepPoint {
  std::string value;
  uint64_t total_bytes = 0;
  uint64_t framework_peak_bytes = 0;
  std::string peak_phase;
  std::optional<bool> fits;
};

struct Sweep {
  std::string input;
  std::vector<SweepPoint> points;
  /// Index of the first point that no longer fits after one that did, where the values are rising numbers.
  std::optional<size_t> break_point;
};

/// "batch=1..64" doubles from 1 to 64, and halves between the two where the answer changes; "precision=fp32,bf16" takes
/// the values as they are.
Result<Sweep> RunSweep(const PlanRequest& request, std::string_view specification);

}  // namespace memstrata::plan
