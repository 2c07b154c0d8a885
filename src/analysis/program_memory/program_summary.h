#pragma once
// What a compiled program's plan says about its memory, and what would make it smaller.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/program_memory/heap_simulation.h"

namespace memstrata {

/// A buffer at the peak of one memory space.
struct PlannedBuffer {
  uint32_t buffer = kNone;  // → Program::buffers
  uint64_t size_bytes = 0;
  uint64_t padding_bytes = 0;
  std::string_view role;  // parameter, output, constant, temporary
};

struct ProgramSummary {
  // As jax's memory_analysis() counts them: Σ allocations of each role, in all memory spaces.
  uint64_t argument_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t alias_bytes = 0;  // both: donated parameters whose memory becomes an output
  uint64_t temp_bytes = 0;
  uint64_t constant_bytes = 0;
  uint64_t thread_local_bytes = 0;
  /// Device memory (space 0): what the program needs while it runs, temporaries packed as planned.
  uint64_t total_bytes = 0;
  /// Highest Σ of what is live there; the rest of total_bytes is fragmentation of the plan. None without a heap trace.
  std::optional<uint64_t> peak_bytes;
  std::vector<PlannedBuffer> at_peak;  // largest first
  uint64_t padding_bytes = 0;          // of the buffers at the peak
  uint64_t temporaries_at_peak_bytes = 0;
  uint64_t temporary_count_at_peak = 0;
  /// Outputs that could use the memory of a parameter of the same size which is not donated yet: saved by donating.
  uint64_t donation_bytes = 0;
  uint64_t donation_count = 0;
  std::string problem;  // why there is no simulation; empty if there is one or no trace
};

/// cost: O(events + buffers log buffers)
ProgramSummary SummarizeProgram(const Program& program);

}  // namespace memstrata
