#pragma once
// Runs of compiled programs on a heap of an XPlane profile, each with what the allocator showed and what the program's
// static plan says it should show. docs/explanation/program_runs.md tells how the two are compared.
//
//   Σ at the highest moment of a run:  used = stack + own + other recorded + before recording + not recorded

#include <optional>
#include <string_view>

#include "analysis/program_runs/program_plan.h"
#include "model/store/store.h"

namespace memstrata {

/// How the program of a run was found, or why it was not.
enum class ProgramMatch : uint8_t {
  kById,        // the profile names the program and its number
  kByName,      // only one program of the session has this name
  kAmbiguous,   // several have it, and the profile does not say which one ran
  kNoSuchPlan,  // the session holds no plan of it
};
inline constexpr std::string_view kProgramMatchNames[] = {"id", "name", "ambiguous", "no_plan"};

struct ProgramRun {
  std::string_view name;     // as the profile has it: "jit_f" or "jit_f(15)"
  uint32_t program = kNone;  // → Store::programs
  ProgramMatch match = ProgramMatch::kNoSuchPlan;
  bool is_on_device = false;  // known from the device's own clock: what its thread allocated is not known
  int64_t begin_ps = 0;       // from the profiler's time zero
  int64_t end_ps = 0;
  /// Events of the heap in the run: of the launching thread from its first to its last one, or all in the time of a
  /// run on the device. Empty when nothing happened in it.
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  uint32_t high_seq = 0;  // the first of the highest in the run; the one before it when it has none

  // There:
  uint64_t stack_bytes = 0;
  uint64_t heap_bytes = 0;
  uint64_t own_temp_bytes = 0;       // blocks of the run that are temporaries of its plan
  uint64_t own_output_bytes = 0;     // … outputs of its plan
  uint64_t own_unplanned_bytes = 0;  // … in no allocation of its plan
  uint64_t rounding_bytes = 0;       // what the allocator added to own blocks; part of the three above
  uint64_t other_bytes = 0;          // blocks of other runs, and of anything else that was recorded
  uint64_t before_recording_bytes = 0;
  int64_t not_recorded_bytes = 0;  // the heap is higher (lower) than its recorded blocks: events are missing

  PlannedBytes plan;
  /// Temporaries and outputs of the plan that no block of the run explains; 0 for runs on a device.
  uint64_t unallocated_bytes = 0;

  uint64_t used_bytes() const { return stack_bytes + heap_bytes; }
  uint64_t own_bytes() const { return own_temp_bytes + own_output_bytes + own_unplanned_bytes; }
};

/// By begin. Launches that touched the heap; where the profile has none, runs of the heap's device by its own line.
/// `heap` must have XPlane details. Cost: O((events + runs) log events).
std::vector<ProgramRun> FindProgramRuns(const Store& store, const Heap& heap);

}  // namespace memstrata
