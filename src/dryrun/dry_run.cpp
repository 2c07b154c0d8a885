#include "dryrun/dry_run.h"

#include <algorithm>

#include "dryrun/child.h"

namespace memstrata::dryrun {

Verdict DryRun::verdict() const {
  bool has_record = false;
  for (const ProcessRecord& process : processes) {
    const bool has_other_error = !process.error_type.empty() && !process.is_error_of_memory;
    const bool has_gone_on = process.allocations_after_oom.value_or(0) > 0 && (exit_status == 0 || has_other_error);
    for (const DeviceRecord& device : process.devices) {
      has_record = true;
      if (!device.ooms.empty() && !has_gone_on) return Verdict::kDoesNotFit;
    }
    // Other allocators than PyTorch's own do not tell of a failed request; the error does.
    if (exit_status != 0 && process.is_error_of_memory) return Verdict::kDoesNotFit;
  }
  if (exit_status != 0 || FailedRank() != nullptr) return Verdict::kScriptFailed;
  if (!has_record) return was_card_used ? Verdict::kNoRecord : Verdict::kCardNotUsed;
  return OutOfMemoryCount() == 0 ? Verdict::kFits : Verdict::kRanAfterErrors;
}

const ProcessRecord* DryRun::FailedRank() const {
  const auto has_failed = [](const ProcessRecord& process) { return process.rank > 0 && !process.error_type.empty(); };
  const auto failed = std::find_if(processes.begin(), processes.end(), has_failed);
  return failed == processes.end() ? nullptr : &*failed;
}

uint64_t DryRun::OutOfMemoryCount() const {
  uint64_t count = 0;
  for (const ProcessRecord& process : processes) {
    for (const DeviceRecord& device : process.devices) count += device.ooms.size();
  }
  return count;
}

std::optional<uint64_t> DryRun::PeakReservedBytes() const {
  std::optional<uint64_t> peak;
  for (const ProcessRecord& process : processes) {
    for (const DeviceRecord& device : process.devices) {
      if (device.peak_reserved_bytes) peak = std::max(peak.value_or(0), *device.peak_reserved_bytes);
    }
  }
  return peak;
}

std::optional<uint64_t> DryRun::RefusedBytes() const {
  for (const ProcessRecord& process : processes) {
    for (const DeviceRecord& device : process.devices) {
      if (!device.ooms.empty()) return device.ooms.front().requested_bytes;
    }
  }
  return std::nullopt;
}

Result<DryRun> RunOnce(const DryRunRequest& request, const Stage& stage) {
  MEMSTRATA_TRY(stage.ClearRecords());
  const ChildOutput output = request.output_to_stderr ? ChildOutput::kToStderr : ChildOutput::kInherit;
  MEMSTRATA_ASSIGN_OR_RETURN(const ChildResult child,
                             RunChild(request.command, stage.ChildEnvironment(request), output));
  DryRun run;
  run.exit_status = child.exit_status;
  run.host_peak_bytes = child.host_peak_bytes;
  run.wall_ns = child.wall_ns;
  MEMSTRATA_ASSIGN_OR_RETURN(run.processes, ReadRecords(stage.record_folder()));
  run.was_card_used = WasCardUsed(stage.record_folder());
  return run;
}

}  // namespace memstrata::dryrun
