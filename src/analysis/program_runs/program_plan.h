#pragma once
// What one run of a compiled program asks an allocator for, by its static plan.

#include <cstdint>
#include <map>

#include "model/store/programs.h"

namespace memstrata {

/// Device memory (space 0) of a program, by what it is for. An output whose memory is a donated argument is an
/// argument.
struct PlannedBytes {
  uint64_t argument_bytes = 0;  // the caller has allocated them before the run
  uint64_t output_bytes = 0;    // allocated in the run, live on after it
  uint64_t temp_bytes = 0;      // allocated and freed in the run
  uint64_t constant_bytes = 0;  // part of the loaded program, not of the allocator

  /// What the allocator should show at the highest moment of a run.
  uint64_t total_bytes() const { return argument_bytes + output_bytes + temp_bytes; }
};

struct ProgramPlan {
  PlannedBytes bytes;
  std::map<uint64_t, uint32_t> outputs;  // size → how many allocations of it
  std::map<uint64_t, uint32_t> temps;
};

/// Cost: O(allocations log allocations).
ProgramPlan PlanOf(const Program& program);

/// Which allocations of a plan the blocks of one run have served so far.
class PlanMatcher {
 public:
  enum class Role : uint8_t { kUnplanned, kTemp, kOutput };

  explicit PlanMatcher(const ProgramPlan& plan) : plan_(plan) {}
  /// Takes one planned allocation that a block serves: one of the size that was asked for, or one that rounds up to the
  /// block. Cost: O(log allocations).
  Role Take(uint64_t requested_bytes, uint64_t block_bytes);
  /// Σ temporaries and outputs that were not taken.
  uint64_t left_bytes() const { return plan_.bytes.output_bytes + plan_.bytes.temp_bytes - taken_bytes_; }

 private:
  using Counts = std::map<uint64_t, uint32_t>;
  bool TakeOf(const Counts& planned, Counts& taken, uint64_t requested_bytes, uint64_t block_bytes);

  const ProgramPlan& plan_;
  Counts taken_outputs_;
  Counts taken_temps_;
  uint64_t taken_bytes_ = 0;
};

}  // namespace memstrata
