#include "measure/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/units.h"

namespace memstrata::measure {
namespace {

std::string RateWords(const MeasuredSession& session) {
  return fmt::format("{:g} samples a second", session.sample_rate_hz);
}

// Whether the kernel's mark of one process is that of the whole run.
bool IsOneProcess(const MeasuredSession& session) {
  return session.commands.size() == 1 && session.tree.size() <= 1 && session.commands[0].ended &&
         !session.commands[0].had_children;
}

HostDetail DetailOf(const MeasuredSession& session) {
  HostDetail detail;
  for (const HostSample& sample : session.host_samples) {
    detail.swapped_bytes = std::max(detail.swapped_bytes, sample.swapped_bytes);
    detail.locked_bytes = std::max(detail.locked_bytes, sample.locked_bytes);
    detail.pinned_bytes = std::max(detail.pinned_bytes, sample.pinned_bytes);
    detail.group_bytes = std::max(detail.group_bytes, sample.group_bytes);
  }
  return detail;
}

// Growth of files in memory below this is what a machine does by itself.
constexpr uint64_t kNoticedBytes = uint64_t{16} << 20;

// By how much shared memory and files in memory grew at most since the first sample, less what the run maps of them.
uint64_t UnmappedBytes(const MeasuredSession& session) {
  uint64_t most_bytes = 0;
  std::optional<uint64_t> begin_bytes;
  for (const HostSample& sample : session.host_samples) {
    if (!sample.machine_shared_bytes) continue;
    if (!begin_bytes) begin_bytes = sample.machine_shared_bytes;
    const uint64_t known_bytes = *begin_bytes + sample.mapped_shared_bytes;
    most_bytes =
        std::max(most_bytes, *sample.machine_shared_bytes - std::min(*sample.machine_shared_bytes, known_bytes));
  }
  return most_bytes;
}

std::optional<MeasuredPeak> HostPeak(const MeasuredSession& session, uint64_t swapped_bytes) {
  MeasuredPeak peak;
  for (const HostSample& sample : session.host_samples) {
    if (sample.SureBytes() > peak.bytes) peak = {sample.SureBytes(), sample.time_ns, true, {}};
  }
  // What the kernel counted of one process also holds what lay between two samples.
  uint64_t highest_bytes = 0;
  for (const HostSample& sample : session.host_samples)
    highest_bytes = std::max(highest_bytes, sample.highest_resident_bytes);
  for (const CommandRun& run : session.commands)
    highest_bytes = std::max(highest_bytes, run.highest_resident_bytes.value_or(0));
  if (highest_bytes > peak.bytes) peak = {highest_bytes, std::nullopt, true, {}};
  if (peak.bytes == 0) return std::nullopt;
  if (IsOneProcess(session) && session.commands[0].highest_resident_bytes) {
    peak.is_lower_bound = false;
    peak.basis = "The kernel's own highest mark of the one process of the run.";
  } else if (IsOneProcess(session)) {
    peak.basis = "The highest mark at a sample: the process took less than the recorder, whose mark covers its own.";
  } else {
    peak.basis = fmt::format(
        "Several processes at {}: what they share counts once, and what lies between two samples is not in it.",
        RateWords(session));
  }
  if (const uint64_t unmapped_bytes = UnmappedBytes(session); unmapped_bytes > kNoticedBytes) {
    peak.is_lower_bound = true;
    peak.basis += fmt::format(
        " Files in memory (tmpfs, memfd) of the machine grew by {} meanwhile that no process of the run maps: whose "
        "they are is not known.",
        FormatBytes(unmapped_bytes));
  }
  if (!session.mark_resets.empty()) {
    peak.is_lower_bound = true;
    peak.basis += " A process set the kernel's mark back, as one does that measures itself: what was before is hidden.";
  }
  if (swapped_bytes > 0) {
    peak.is_lower_bound = true;
    peak.basis +=
        fmt::format(" Up to {} of the run were swapped out, which is not resident.", FormatBytes(swapped_bytes));
  }
  return peak;
}

// What a set of processes uses of a device at one sample; nothing where one of them hides it or nobody is named.
std::optional<uint64_t> OwnBytes(const DeviceSample& sample, const std::set<int32_t>& tree) {
  if (!sample.processes) return std::nullopt;
  uint64_t bytes = 0;
  for (const ProcessUse& use : *sample.processes) {
    if (!tree.contains(use.process_id)) continue;
    if (!use.used_bytes) return std::nullopt;
    bytes += *use.used_bytes;
  }
  return bytes;
}

struct Pools {
  uint64_t reserved_bytes = 0;  // Σ of their peaks
  uint64_t largest_bytes = 0;   // of them: the device held so much at once
  bool any = false;
  bool complete = true;
};

Pools PoolsOn(uint32_t device, const std::vector<AllocatorPeak>& allocators) {
  Pools pools;
  for (const AllocatorPeak& allocator : allocators) {
    if (allocator.device_index != device) continue;
    pools.any = true;
    pools.reserved_bytes += allocator.reserved.bytes;
    pools.largest_bytes = std::max(pools.largest_bytes, allocator.reserved.bytes);
    pools.complete = pools.complete && !allocator.reserved.is_lower_bound;
  }
  return pools;
}

void Judge(const MeasuredSession& session, const Pools& pools, DevicePeak& peak) {
  const uint64_t risen_bytes = peak.used.bytes - std::min(peak.used.bytes, peak.begin_bytes.value_or(0));
  const uint64_t sampled_bytes = peak.used.bytes;
  peak.used.is_lower_bound = true;
  if (pools.largest_bytes > sampled_bytes) {
    peak.used = {pools.largest_bytes, std::nullopt, true, {}};
    peak.used.basis = fmt::format(
        "By the framework's own counter, which is above the {} that the samples saw; what the device held beside it "
        "then is not in it.",
        FormatBytes(sampled_bytes));
  } else if (!session.ended) {
    peak.used.basis = "The recording was cut off: later samples are missing.";
  } else if (!pools.any) {
    peak.used.basis = fmt::format("At {}; no framework said what it held between them.", RateWords(session));
  } else if (!pools.complete) {
    peak.used.basis = fmt::format("At {}; a process ended without saying its own peak.", RateWords(session));
  } else if (!peak.why_unrecorded.empty()) {
    peak.used.basis = fmt::format("At {}; {}", RateWords(session), peak.why_unrecorded);
  } else if (pools.reserved_bytes > risen_bytes) {
    peak.used.basis = fmt::format("At {}; the frameworks' pools reached {} in all, more than the samples saw.",
                                  RateWords(session), FormatBytes(pools.reserved_bytes));
  } else {
    peak.used.is_lower_bound = false;
    peak.used.basis = fmt::format(
        "At {}; the frameworks' pools at their highest are in it, memory beside them is seen "
        "at the samples only.",
        RateWords(session));
  }
}

// Whether a process that holds memory on the device is never among those that the vendor names there: in a container it
// has another number, and so have all.
bool NamesOtherwise(const MeasuredSession& session, uint32_t device, const std::set<int32_t>& named) {
  for (const FrameworkProcess& process : session.processes) {
    for (const FrameworkDevice& own : process.devices) {
      const bool has_memory =
          std::any_of(process.samples.begin(), process.samples.end(),
                      [&](const AllocatorSample& one) { return one.device == own.device && one.reserved_bytes > 0; });
      if (has_memory && !named.contains(process.process_id) && DeviceIndexOf(session, own) == device) return true;
    }
  }
  return false;
}

// A process of the run that used the device and recorded nothing: between the samples it may have held more. `named`
// are those that the vendor names, if its numbers are the same; else each process of the run may be one.
std::string WhyUnrecorded(const MeasuredSession& session, const std::set<int32_t>* named) {
  std::set<int32_t> recorded;
  for (const FrameworkProcess& process : session.processes) {
    recorded.insert(process.process_id);
    // A forked child cannot use the device of its parent; where the vendor names it, it has become another program.
    if (named == nullptr) recorded.insert(process.forked_ids.begin(), process.forked_ids.end());
  }
  for (const int32_t id : session.tree) {
    if (recorded.contains(id)) continue;
    if (named == nullptr)
      return "the vendor does not say whether a process of the run that recorded nothing used the device.";
    if (named->contains(id)) return fmt::format("process {} of the run used the device and recorded nothing.", id);
  }
  return {};
}

DevicePeak PeakOf(const MeasuredSession& session, uint32_t device, const std::vector<AllocatorPeak>& allocators) {
  const std::set<int32_t> tree(session.tree.begin(), session.tree.end());
  std::set<int32_t> named;
  DevicePeak peak;
  peak.device = device;
  bool names_users = false;
  for (const DeviceSample& sample : session.device_samples) {
    if (sample.device != device) continue;
    if (!peak.begin_bytes) peak.begin_bytes = sample.used_bytes;
    if (sample.used_bytes > peak.used.bytes) peak.used = {sample.used_bytes, sample.time_ns, true, {}};
    const std::optional<uint64_t> own_bytes = OwnBytes(sample, tree);
    if (own_bytes && (!peak.own || *own_bytes > peak.own->bytes))
      peak.own = MeasuredPeak{*own_bytes, sample.time_ns, true, "At " + RateWords(session) + "."};
    if (!sample.processes) continue;
    names_users = true;
    for (const ProcessUse& use : *sample.processes) named.insert(use.process_id);
  }
  const bool knows_users = names_users && !NamesOtherwise(session, device, named);
  peak.why_unrecorded = WhyUnrecorded(session, knows_users ? &named : nullptr);
  if (knows_users) {
    std::ranges::set_difference(named, tree, std::back_inserter(peak.other_users));
    peak.used_by_others = !peak.other_users.empty();
  } else {
    peak.own.reset();
  }
  Judge(session, PoolsOn(device, allocators), peak);
  return peak;
}

AllocatorPeak PeakOf(const MeasuredSession& session, const FrameworkProcess& process, uint32_t device) {
  AllocatorPeak peak;
  peak.process = process.label;
  peak.device = device;
  for (const FrameworkDevice& known : process.devices) {
    if (known.device == device) peak.device_index = DeviceIndexOf(session, known);
  }
  const bool is_lower_bound = !process.complete;
  const char* basis = process.complete ? "The allocator's own counter, at the end of the process."
                                       : "The allocator's own counter, when it was last asked: the process was killed.";
  for (const AllocatorSample& sample : process.samples) {
    if (sample.device != device) continue;
    peak.allocated = {sample.peak_allocated_bytes, std::nullopt, is_lower_bound, basis};
    peak.reserved = {sample.peak_reserved_bytes, std::nullopt, is_lower_bound, basis};
    peak.retry_count = sample.retry_count;
    peak.oom_count = sample.oom_count;
  }
  return peak;
}

}  // namespace

std::optional<uint32_t> DeviceIndexOf(const MeasuredSession& session, const FrameworkDevice& device) {
  // A vendor puts "GPU-" before the number of a card and "MIG-" before that of an instance; a framework knows neither.
  const auto number = [](std::string_view uuid) {
    return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
  };
  for (uint32_t i = 0; i < session.devices.size(); ++i) {
    if (!device.uuid.empty() && number(session.devices[i].uuid) == number(device.uuid)) return i;
  }
  // A framework that names no UUID: only where there is one device, so that no other can be meant.
  if (device.uuid.empty() && session.devices.size() == 1) return 0;
  return std::nullopt;
}

RunPeaks FindPeaks(const MeasuredSession& session) {
  RunPeaks peaks;
  for (const FrameworkProcess& process : session.processes) {
    std::set<uint32_t> devices;
    for (const AllocatorSample& sample : process.samples) devices.insert(sample.device);
    for (const uint32_t device : devices) peaks.allocators.push_back(PeakOf(session, process, device));
  }
  std::set<uint32_t> sampled;
  for (const DeviceSample& sample : session.device_samples) sampled.insert(sample.device);
  for (const uint32_t device : sampled) peaks.devices.push_back(PeakOf(session, device, peaks.allocators));
  peaks.host_detail = DetailOf(session);
  peaks.host = HostPeak(session, peaks.host_detail.swapped_bytes);
  for (const CommandRun& run : session.commands) {
    if (!run.is_beside) peaks.wall_ns = std::max(peaks.wall_ns, run.wall_ns);
  }
  return peaks;
}

}  // namespace memstrata::measure
