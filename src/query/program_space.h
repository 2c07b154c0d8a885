#pragma once
// One memory space of a compiled program, ready to be shown: the plan over program points.

#include "analysis/program_memory/heap_simulation.h"
#include "base/result.h"

namespace memstrata {

struct ProgramSpace {
  int64_t id = 0;
  uint64_t allocated_bytes = 0;  // Σ allocations, thread-local ones apart
  uint64_t argument_bytes = 0;
  uint64_t output_bytes = 0;  // what may live out, donated parameters included
  /// Highest Σ of what is live; equal to allocated_bytes where the plan holds no trace of the space.
  uint64_t peak_bytes = 0;
  HeapSimulation simulation;
};

/// The memory spaces that a program's allocations lie in, rising.
std::vector<int64_t> SpacesOf(const Program& program);
/// errors: kCorruptInput when the trace contradicts itself   cost: O(events + allocations)
Result<ProgramSpace> DescribeSpace(const Program& program, int64_t space);
/// "device memory", "on-chip memory", "host memory", "space 7".
std::string SpaceName(int64_t space);

}  // namespace memstrata
