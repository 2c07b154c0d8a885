#include "query/program_space.h"

#include <algorithm>

namespace memstrata {

std::vector<int64_t> SpacesOf(const Program& program) {
  std::vector<int64_t> spaces;
  spaces.reserve(program.allocations.size());
  for (const ProgramAllocation& allocation : program.allocations) spaces.push_back(allocation.space);
  std::sort(spaces.begin(), spaces.end());
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  return spaces;
}

Result<ProgramSpace> DescribeSpace(const Program& program, int64_t space) {
  ProgramSpace described{.id = space};
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != space || allocation.is_thread_local) continue;
    described.allocated_bytes += allocation.size_bytes;
    if (allocation.is_entry_parameter) described.argument_bytes += allocation.size_bytes;
    if (allocation.may_live_out) described.output_bytes += allocation.size_bytes;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(described.simulation, SimulateHeap(program, space));
  described.peak_bytes = described.simulation.has_trace
                             ? described.simulation.peak_bytes + described.simulation.indefinite_bytes
                             : described.allocated_bytes;
  return described;
}

std::string SpaceName(int64_t space) {
  // XLA's memory space colours.
  switch (space) {
    case 0:
      return "device memory";
    case 1:
      return "on-chip memory";
    case 5:
      return "host memory";
    default:
      return "space " + std::to_string(space);
  }
}

}  // namespace memstrata
