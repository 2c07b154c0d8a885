#pragma once
// Programs on a heap in words and numbers: what the allocator showed at the highest moment of each program, and what
// its static plan says should be there.

#include <string>
#include <vector>

#include "analysis/program_runs/program_runs.h"
#include "base/json_writer.h"

namespace memstrata {

/// All runs of one program on a heap.
struct ProgramUse {
  std::string_view name;
  uint64_t run_count = 0;
  ProgramRun highest;  // the run with the highest moment, the first of equal ones
};

/// The highest first. Cost: O(runs log runs).
std::vector<ProgramUse> UseByProgram(const std::vector<ProgramRun>& runs);

/// What the allocator shows beyond the plan at the highest moment of a run: used - plan, each part named. Of a run on a
/// device, the stack reservation against the temporaries of the plan.
int64_t BeyondPlanBytes(const ProgramRun& run);
/// The comparison in sentences.
std::string DescribeRun(const ProgramRun& run);
/// The fields of a run, its sentences as "text", into an open object.
void WriteRunFields(JsonWriter& json, const ProgramRun& run);

}  // namespace memstrata
