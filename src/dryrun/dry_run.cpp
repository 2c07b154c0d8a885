#include "dryrun/dry_run.h"

#include <algorithm>

#include "dryrun/child.h"

namespace memstrata::dryrun {

Verdict DryRun::verdict() const {
  bool used = false;
  for (const ProcessRecord& process : processes) {
    for (const DeviceRecord& device : process.devices) {
      used = true;
      if (!device.ooms.empty()) return Verdict::kDoesNotFit;
    }
  }
  if (exit_status != 0) return Verdict::kScriptFailed;
  return used ? Verdict::kFits : Verdict::kCardNotUsed;
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
  return run;
}

}  // namespace memstrata::dryrun
