#include "accept/session_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata::accept {
namespace {

using measure::AllocatorPeak;
using measure::CommandRun;
using measure::DevicePeak;
using measure::MeasuredSession;
using measure::RunPeaks;

constexpr double kNsPerS = 1e9;
constexpr int32_t kSignalBase = 128;
constexpr const char* kNoFramework = "No framework of the run said what it holds on the device.";

std::string DeviceName(const MeasuredSession& session, uint32_t device) {
  const std::string name = device < session.devices.size() ? session.devices[device].name : "";
  return name.empty() ? fmt::format("device {}", device) : fmt::format("device {} ({})", device, name);
}

Measured ToMeasured(const measure::MeasuredPeak& peak) {
  return {static_cast<double>(peak.bytes), peak.is_lower_bound, peak.basis};
}

// Adds what one process reserved at its highest; of several processes the sum, which they need not have reached at the
// same moment.
void AddFramework(const AllocatorPeak& allocator, Measured& sum) {
  const bool is_first = !sum.value;
  sum.value = sum.value.value_or(0) + static_cast<double>(allocator.reserved.bytes);
  sum.is_lower_bound = (is_first ? false : sum.is_lower_bound) || allocator.reserved.is_lower_bound;
  sum.basis = is_first ? allocator.reserved.basis : "The sum of what several processes reserved at their highest.";
}

DeviceFigures FiguresOfDevice(const MeasuredSession& session, const RunPeaks& peaks, const DevicePeak& peak) {
  DeviceFigures figures;
  figures.id = DeviceName(session, peak.device);
  if (peak.device < session.devices.size()) {
    const measure::DeviceFacts& facts = session.devices[peak.device];
    figures.driver = facts.driver_version;
    figures.uuid = facts.uuid;
    if (facts.total_bytes)
      figures.capacity_bytes = *facts.total_bytes - std::min(*facts.total_bytes, facts.reserved_bytes.value_or(0));
  }
  figures.used_bytes = ToMeasured(peak.used);
  figures.used_by_others = peak.used_by_others;
  figures.framework_bytes.basis = kNoFramework;
  for (const AllocatorPeak& allocator : peaks.allocators) {
    if (allocator.device_index == peak.device) AddFramework(allocator, figures.framework_bytes);
  }
  if (figures.framework_bytes.value && !peak.why_unrecorded.empty()) {
    figures.framework_bytes.is_lower_bound = true;
    figures.framework_bytes.basis = fmt::format("Of the processes that were recorded; {}", peak.why_unrecorded);
  }
  return figures;
}

// A device of the machine that the run has nothing on: the vendor names its users and none is of the run, and no
// framework holds anything there.
bool IsUnused(const RunPeaks& peaks, const DevicePeak& peak) {
  const bool has_framework =
      std::any_of(peaks.allocators.begin(), peaks.allocators.end(),
                  [&](const AllocatorPeak& allocator) { return allocator.device_index == peak.device; });
  return !has_framework && peak.own && peak.own->bytes == 0;
}

// Devices that a framework uses and no vendor's library names.
void AddUnnamedDevices(const RunPeaks& peaks, RepeatFigures& figures) {
  for (const AllocatorPeak& allocator : peaks.allocators) {
    if (allocator.device_index) continue;
    const std::string id = fmt::format("device {} of the framework", allocator.device);
    DeviceFigures* found = nullptr;
    for (DeviceFigures& known : figures.devices) {
      if (known.id == id) found = &known;
    }
    if (found == nullptr) {
      DeviceFigures device;
      device.id = id;
      device.used_bytes.basis = "The vendor's library does not name this device.";
      figures.devices.push_back(std::move(device));
      found = &figures.devices.back();
    }
    AddFramework(allocator, found->framework_bytes);
  }
}

bool EndedFromOutside(const CommandRun& run) {
  return !run.timed_out && measure::IsEndingSignal(run.exit_status - kSignalBase);
}

void AddErrors(const MeasuredSession& session, const RunPeaks& peaks, RepeatFigures& figures) {
  const auto add = [&](uint64_t count, std::string text) {
    if (figures.error_count == 0) figures.error_text = std::move(text);
    figures.error_count += count;
  };
  figures.was_interrupted = !session.ended || !session.signals.empty();
  for (const CommandRun& run : session.commands) {
    const std::string_view who = run.is_beside ? "What ran beside it" : "It";
    if (run.was_stopped) continue;  // as it should: what it ran beside had ended
    if (!run.ended || EndedFromOutside(run)) {
      figures.was_interrupted = true;
    } else if (run.timed_out) {
      add(1, fmt::format("{} did not end within timeout_s and was told to; it took {}.", who,
                         FormatDuration(run.wall_ns)));
    } else if (run.exit_status > kSignalBase) {
      add(1, fmt::format("{} was ended by signal {}.", who, run.exit_status - kSignalBase));
    } else if (run.exit_status != 0) {
      add(1, fmt::format("{} ended with status {}.", who, run.exit_status));
    }
  }
  for (const AllocatorPeak& allocator : peaks.allocators) {
    if (allocator.oom_count > 0)
      add(allocator.oom_count,
          fmt::format("{} failed for want of memory.", FormatCount(allocator.oom_count, "request")));
  }
}

// What the commands took of processors and storage; what ran beside them is not theirs.
void AddEffort(const MeasuredSession& session, RepeatFigures& figures) {
  const auto sum = [&](std::optional<uint64_t> CommandRun::*member, double unit, const char* basis) {
    Measured measured{0.0, false, basis};
    for (const CommandRun& run : session.commands) {
      if (run.is_beside) continue;
      if (!(run.*member)) return Measured{std::nullopt, false, "The kernel's count was not recorded."};
      measured.value = *measured.value + static_cast<double>(*(run.*member)) / unit;
    }
    return measured;
  };
  figures.cpu_time_s = sum(&CommandRun::cpu_ns, kNsPerS, "By the kernel, with the children that were waited for.");
  figures.read_bytes =
      sum(&CommandRun::read_bytes, 1, "By the kernel; what came from the cache of files is not in it.");
  figures.written_bytes = sum(&CommandRun::written_bytes, 1, "By the kernel, as far as it was written out.");
}

Measured Retries(const RunPeaks& peaks) {
  if (peaks.allocators.empty()) return {std::nullopt, false, kNoFramework};
  Measured retries{0.0, false, "Counted by the framework's allocator."};
  for (const AllocatorPeak& allocator : peaks.allocators) {
    retries.value = *retries.value + static_cast<double>(allocator.retry_count);
    retries.is_lower_bound |= allocator.allocated.is_lower_bound;
  }
  for (const DevicePeak& peak : peaks.devices) {
    if (peak.why_unrecorded.empty() || IsUnused(peaks, peak)) continue;
    retries.is_lower_bound = true;
    retries.basis = fmt::format("Of the processes that were recorded; {}", peak.why_unrecorded);
  }
  return retries;
}

}  // namespace

RepeatFigures FiguresOfSession(const MeasuredSession& session) {
  const RunPeaks peaks = measure::FindPeaks(session);
  RepeatFigures figures;
  figures.folder = session.folder;
  for (const DevicePeak& peak : peaks.devices) {
    if (!IsUnused(peaks, peak)) figures.devices.push_back(FiguresOfDevice(session, peaks, peak));
  }
  AddUnnamedDevices(peaks, figures);
  if (figures.devices.empty()) {
    figures.why_no_device = peaks.devices.empty()
                                ? "No device was measured."
                                : "The run used none of the devices, by the processes that the vendor "
                                  "names; in a container these numbers may be others.";
  }
  AddEffort(session, figures);
  figures.host_bytes =
      peaks.host ? ToMeasured(*peaks.host) : Measured{std::nullopt, false, "It ended before a sample met it."};
  figures.run_time_s = {static_cast<double>(peaks.wall_ns) / kNsPerS, false,
                        "From the start of the command to its end."};
  figures.retry_count = Retries(peaks);
  AddErrors(session, peaks, figures);
  for (const measure::FrameworkProcess& process : session.processes) {
    if (!process.framework.empty()) figures.frameworks.push_back(process.framework);
  }
  figures.variables = session.variables;
  for (const measure::Gap& gap : session.gaps) figures.gaps.push_back(fmt::format("{}: {}", gap.what, gap.why));
  return figures;
}

}  // namespace memstrata::accept
