#pragma once
// The figures of a measured run: peaks, who else used the device, and how far each can be trusted.

#include "measure/session.h"

namespace memstrata::measure {

/// A highest value and when it was. `is_lower_bound`: the true peak may have been higher.
struct MeasuredPeak {
  uint64_t bytes = 0;
  std::optional<int64_t> time_ns;
  bool is_lower_bound = true;
  std::string basis;  // a sentence: where the value comes from, and what it can miss
};

struct DevicePeak {
  uint32_t device = 0;
  MeasuredPeak used;                    // by all
  std::optional<uint64_t> begin_bytes;  // used before the program started
  std::optional<MeasuredPeak> own;      // by the processes of the run; nothing where the vendor does not say
  std::vector<int32_t> other_users;     // processes that do not belong to the run
  std::optional<bool> used_by_others;   // nothing: the vendor does not say who uses the device
  // Processes of the run that hold memory there, or may, of which no framework said what: why; empty: there is none.
  std::string why_unrecorded;
};

struct AllocatorPeak {
  std::string process;                   // label
  uint32_t device = 0;                   // as the framework counts
  std::optional<uint32_t> device_index;  // in MeasuredSession::devices, where they can be told to be the same
  MeasuredPeak allocated;
  MeasuredPeak reserved;
  uint64_t retry_count = 0;
  uint64_t oom_count = 0;
};

/// Of the host what is not in its peak, or a part of it: each the highest of the samples.
struct HostDetail {
  uint64_t swapped_bytes = 0;           // beside resident memory
  uint64_t locked_bytes = 0;            // of resident memory: mlock
  uint64_t pinned_bytes = 0;            // of it, by the kernel's count; drivers of accelerators may pin without it
  std::optional<uint64_t> group_bytes;  // of the control group that holds the run, its file cache included
};

struct RunPeaks {
  std::optional<MeasuredPeak> host;  // nothing: it ended before a sample met it
  HostDetail host_detail;
  std::vector<DevicePeak> devices;
  std::vector<AllocatorPeak> allocators;
  int64_t wall_ns = 0;  // of the longest command
};

/// cost: O(samples)
RunPeaks FindPeaks(const MeasuredSession& session);

/// The device that a framework's device is: by its UUID; the only one where the framework names
/// none.
std::optional<uint32_t> DeviceIndexOf(const MeasuredSession& session, const FrameworkDevice& device);

}  // namespace memstrata::measure
