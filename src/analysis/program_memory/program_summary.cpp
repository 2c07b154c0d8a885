#include "analysis/program_memory/program_summary.h"

#include <algorithm>
#include <map>

namespace memstrata {
namespace {

constexpr int64_t kDeviceMemory = 0;
constexpr int64_t kHostMemory = 5;

std::string_view RoleOf(const ProgramAllocation& allocation) {
  if (allocation.is_entry_parameter) return "parameter";
  if (allocation.may_live_out) return "output";
  return allocation.is_constant ? "constant" : "temporary";
}

void AddTotals(const Program& program, ProgramSummary& summary) {
  uint64_t arguments = 0, outputs = 0, aliases = 0, temps = 0, constants = 0, thread_local_bytes = 0;
  for (const ProgramAllocation& allocation : program.allocations) {
    const uint64_t size = allocation.size_bytes;
    if (allocation.space == kHostMemory) {
      summary.host_bytes += size;
      continue;
    }
    if (allocation.is_entry_parameter) arguments += size;
    if (allocation.may_live_out) outputs += size;
    if (allocation.is_entry_parameter && allocation.may_live_out) aliases += size;
    if (allocation.is_constant) constants += size;
    if (allocation.is_thread_local) thread_local_bytes += size;
    if (allocation.is_temporary()) temps += size;
    if (allocation.space == kDeviceMemory && !allocation.is_thread_local) summary.total_bytes += size;
  }
  summary.is_approximate = program.has_rounded_sizes;
  if (program.stated_total_bytes) summary.total_bytes = *program.stated_total_bytes;
  if (!program.has_roles) return;
  summary.argument_bytes = arguments;
  summary.output_bytes = outputs;
  summary.alias_bytes = aliases;
  summary.temp_bytes = temps;
  summary.constant_bytes = constants;
  summary.thread_local_bytes = thread_local_bytes;
}

uint64_t PaddingOf(const Program& program, uint32_t row) {
  const ProgramBuffer& buffer = program.buffers[row];
  return buffer.size_bytes > buffer.unpadded_bytes && buffer.unpadded_bytes > 0
             ? buffer.size_bytes - buffer.unpadded_bytes
             : 0;
}

void AddBuffer(const Program& program, uint32_t row, std::string_view role, ProgramSummary& summary) {
  const uint64_t padding = PaddingOf(program, row);
  summary.padding_bytes += padding;
  summary.at_peak.push_back({row, program.buffers[row].size_bytes, padding, role});
}

uint32_t LargestBuffer(const Program& program, const ProgramAllocation& allocation) {
  if (allocation.assigned.empty()) return kNone;
  return std::max_element(allocation.assigned.begin(), allocation.assigned.end(),
                          [&](const ProgramAssignment& a, const ProgramAssignment& b) {
                            return program.buffers[a.buffer].size_bytes < program.buffers[b.buffer].size_bytes;
                          })
      ->buffer;
}

// Values of an allocation whose lives are not known: the allocation stands for them.
void AddAllocation(const Program& program, const ProgramAllocation& allocation, std::string_view role,
                   ProgramSummary& summary) {
  summary.at_peak.push_back(
      {LargestBuffer(program, allocation), allocation.size_bytes, 0, role, allocation.assigned.size()});
}

void AddPeak(const Program& program, const HeapSimulation& simulation, ProgramSummary& summary) {
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != kDeviceMemory || (program.has_roles && allocation.is_thread_local)) continue;
    if (!program.has_roles) {
      AddAllocation(program, allocation, "unknown", summary);
    } else if (allocation.is_indefinite() && !allocation.assigned.empty()) {
      AddBuffer(program, LargestBuffer(program, allocation), RoleOf(allocation), summary);
    } else if (!simulation.has_trace || allocation.is_indefinite()) {
      AddAllocation(program, allocation, RoleOf(allocation), summary);
    }
  }
  if (simulation.has_trace) {
    for (const uint32_t buffer : simulation.peak_buffers) AddBuffer(program, buffer, "temporary", summary);
    summary.temporaries_at_peak_bytes = simulation.peak_bytes;
    summary.temporary_count_at_peak = simulation.peak_buffers.size();
  }
  std::stable_sort(summary.at_peak.begin(), summary.at_peak.end(),
                   [](const PlannedBuffer& a, const PlannedBuffer& b) { return a.size_bytes > b.size_bytes; });
}

// Pairs outputs with parameters of exactly their size, each once.
void AddDonation(const Program& program, ProgramSummary& summary) {
  std::map<uint64_t, uint64_t> free_parameters;  // size → how many
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space == kDeviceMemory && allocation.is_entry_parameter && !allocation.may_live_out)
      ++free_parameters[allocation.size_bytes];
  }
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != kDeviceMemory || !allocation.may_live_out || allocation.is_entry_parameter ||
        allocation.is_tuple)
      continue;
    const auto found = free_parameters.find(allocation.size_bytes);
    if (found == free_parameters.end() || found->second == 0) continue;
    --found->second;
    summary.donation_bytes += allocation.size_bytes;
    ++summary.donation_count;
  }
}

}  // namespace

ProgramSummary SummarizeProgram(const Program& program) {
  ProgramSummary summary;
  AddTotals(program, summary);
  if (program.has_roles) AddDonation(program, summary);
  const Result<HeapSimulation> simulation = SimulateHeap(program, kDeviceMemory);
  if (!simulation) {
    summary.problem = simulation.error().message;
    return summary;
  }
  AddPeak(program, *simulation, summary);
  const bool has_no_temporaries = summary.temp_bytes == uint64_t{0};
  if (has_no_temporaries) summary.temporaries_at_peak_bytes = summary.temporary_count_at_peak = 0;
  if (simulation->has_trace || has_no_temporaries)
    summary.peak_bytes = simulation->indefinite_bytes + simulation->peak_bytes;
  return summary;
}

}  // namespace memstrata
