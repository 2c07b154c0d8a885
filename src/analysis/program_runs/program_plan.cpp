#include "analysis/program_runs/program_plan.h"

namespace memstrata {
namespace {

// Allocators of devices hand out multiples of this.
constexpr uint64_t kChunkBytes = 256;

}  // namespace

ProgramPlan PlanOf(const Program& program) {
  ProgramPlan plan;
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != 0 || allocation.is_thread_local) continue;
    if (allocation.is_entry_parameter) {
      plan.bytes.argument_bytes += allocation.size_bytes;
    } else if (allocation.is_constant) {
      plan.bytes.constant_bytes += allocation.size_bytes;
    } else if (allocation.may_live_out) {
      plan.bytes.output_bytes += allocation.size_bytes;
      ++plan.outputs[allocation.size_bytes];
    } else {
      plan.bytes.temp_bytes += allocation.size_bytes;
      ++plan.temps[allocation.size_bytes];
    }
  }
  return plan;
}

bool PlanMatcher::TakeOf(const Counts& planned, Counts& taken, uint64_t requested_bytes, uint64_t block_bytes) {
  const auto take = [&](Counts::const_iterator size) {
    const auto used = taken.find(size->first);
    if (used != taken.end() && used->second == size->second) return false;
    ++taken[size->first];
    taken_bytes_ += size->first;
    return true;
  };
  const auto exact = planned.find(requested_bytes);
  if (exact != planned.end() && take(exact)) return true;
  const auto end = planned.upper_bound(block_bytes);
  for (auto size = planned.lower_bound(block_bytes < kChunkBytes ? 0 : block_bytes - kChunkBytes + 1); size != end;
       ++size) {
    if (take(size)) return true;
  }
  return false;
}

PlanMatcher::Role PlanMatcher::Take(uint64_t requested_bytes, uint64_t block_bytes) {
  if (TakeOf(plan_.temps, taken_temps_, requested_bytes, block_bytes)) return Role::kTemp;
  if (TakeOf(plan_.outputs, taken_outputs_, requested_bytes, block_bytes)) return Role::kOutput;
  return Role::kUnplanned;
}

}  // namespace memstrata
