#include "analysis/program_memory/program_summary.h"

#include <algorithm>
#include <map>

namespace memstrata {
namespace {

constexpr int64_t kDeviceMemory = 0;

std::string_view RoleOf(const ProgramAllocation& allocation) {
  if (allocation.is_entry_parameter) return "parameter";
  if (allocation.may_live_out) return "output";
  return allocation.is_constant ? "constant" : "temporary";
}

void AddTotals(const Program& program, ProgramSummary& summary) {
  for (const ProgramAllocation& allocation : program.allocations) {
    const uint64_t size = allocation.size_bytes;
    if (allocation.is_entry_parameter) summary.argument_bytes += size;
    if (allocation.may_live_out) summary.output_bytes += size;
    if (allocation.is_entry_parameter && allocation.may_live_out) summary.alias_bytes += size;
    if (allocation.is_constant) summary.constant_bytes += size;
    if (allocation.is_thread_local) summary.thread_local_bytes += size;
    if (allocation.is_temporary()) summary.temp_bytes += size;
    if (allocation.space == kDeviceMemory && !allocation.is_thread_local) summary.total_bytes += size;
  }
}

void AddBuffer(const Program& program, uint32_t row, std::string_view role, ProgramSummary& summary) {
  const ProgramBuffer& buffer = program.buffers[row];
  const uint64_t padding = buffer.size_bytes > buffer.unpadded_bytes && buffer.unpadded_bytes > 0
                               ? buffer.size_bytes - buffer.unpadded_bytes
                               : 0;
  summary.padding_bytes += padding;
  summary.at_peak.push_back({row, buffer.size_bytes, padding, role});
  if (role != "temporary") return;
  summary.temporaries_at_peak_bytes += buffer.size_bytes;
  ++summary.temporary_count_at_peak;
}

void AddPeak(const Program& program, const HeapSimulation& simulation, ProgramSummary& summary) {
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != kDeviceMemory || !allocation.is_indefinite() || allocation.assigned.empty()) continue;
    const auto largest =
        std::max_element(allocation.assigned.begin(), allocation.assigned.end(),
                         [&](const ProgramAssignment& a, const ProgramAssignment& b) {
                           return program.buffers[a.buffer].size_bytes < program.buffers[b.buffer].size_bytes;
                         });
    AddBuffer(program, largest->buffer, RoleOf(allocation), summary);
  }
  for (const uint32_t buffer : simulation.peak_buffers) AddBuffer(program, buffer, "temporary", summary);
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
  AddDonation(program, summary);
  const Result<HeapSimulation> simulation = SimulateHeap(program, kDeviceMemory);
  if (!simulation) {
    summary.problem = simulation.error().message;
    return summary;
  }
  AddPeak(program, *simulation, summary);
  if (simulation->has_trace || summary.temp_bytes == 0)
    summary.peak_bytes = simulation->indefinite_bytes + simulation->peak_bytes;
  return summary;
}

}  // namespace memstrata
