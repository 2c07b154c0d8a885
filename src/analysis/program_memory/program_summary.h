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
  uint32_t buffer = kNone;  // → Program::buffers; kNone: an allocation of which no value is known
  uint64_t size_bytes = 0;
  uint64_t padding_bytes = 0;  // of the buffer; not known of a whole allocation
  std::string_view role;       // parameter, output, constant, temporary, unknown
  /// The whole allocation, with so many values of which `buffer` is the largest: the source does not say which of them
  /// are live together. 0: the buffer alone.
  uint64_t value_count = 0;
};

struct ProgramSummary {
  // As jax's memory_analysis() counts them: Σ allocations of each role, in all memory spaces. Nothing where the source
  // does not say what allocations are for.
  std::optional<uint64_t> argument_bytes;
  std::optional<uint64_t> output_bytes;
  std::optional<uint64_t> alias_bytes;  // both: donated parameters whose memory becomes an output
  std::optional<uint64_t> temp_bytes;
  std::optional<uint64_t> constant_bytes;
  std::optional<uint64_t> thread_local_bytes;
  /// Device memory (space 0): what the program needs while it runs, temporaries packed as planned. With the
  /// thread-local allocations where they cannot be told apart.
  uint64_t total_bytes = 0;
  uint64_t host_bytes = 0;      // in host memory (space 5), which no other figure here counts
  bool is_approximate = false;  // sizes are as rounded in a text for people
  /// Highest Σ of what is live there; the rest of total_bytes is fragmentation of the plan. None without a heap trace.
  std::optional<uint64_t> peak_bytes;
  std::vector<PlannedBuffer> at_peak;  // largest first
  uint64_t padding_bytes = 0;          // of the buffers at the peak; known where temporaries_at_peak_bytes is
  /// Nothing where the source does not say when values are live.
  std::optional<uint64_t> temporaries_at_peak_bytes;
  std::optional<uint64_t> temporary_count_at_peak;
  /// Outputs that could use the memory of a parameter of the same size which is not donated yet: saved by donating.
  uint64_t donation_bytes = 0;
  uint64_t donation_count = 0;
  std::string problem;  // why there is no simulation; empty if there is one or no trace
};

/// cost: O(events + buffers log buffers)
ProgramSummary SummarizeProgram(const Program& program);

}  // namespace memstrata
