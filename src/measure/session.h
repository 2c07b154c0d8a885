#pragma once
// What the folder of a measured run says (docs/formats/session.md): what ran and how it ended, the samples of devices
// and host, and what each process of a framework said about its allocator.
//
// A run that was killed leaves whole lines up to then; `ended` is false in that case.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memstrata::measure {

/// A device as its vendor names it. Its index is its place in MeasuredSession::devices.
struct DeviceFacts {
  std::string vendor;  // "nvidia", "amd"
  std::string name;    // empty: the vendor does not say
  std::string uuid;
  std::string pci_bus_id;
  std::string driver_version;  // empty: the vendor does not say
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> reserved_bytes;  // kept by driver and firmware, never free
  bool is_partition = false;               // an instance of a partitioned card (MIG)
  bool is_unified = false;                 // its memory is the host's
  bool is_host_node = false;               // its own memory is a NUMA node of the host, whose totals contain it
};

struct ProcessUse {
  int32_t process_id = 0;
  std::optional<uint64_t> used_bytes;  // nothing: the vendor names the process and hides its memory
};

struct DeviceSample {
  int64_t time_ns = 0;  // since the Unix epoch
  uint32_t device = 0;
  uint64_t used_bytes = 0;  // by all, what the driver reserves included
  uint64_t free_bytes = 0;
  std::optional<std::vector<ProcessUse>> processes;  // nothing: the vendor does not say who uses the device
};

/// The run's process tree, and the machine around it.
struct HostSample {
  int64_t time_ns = 0;
  uint32_t process_count = 0;
  uint64_t resident_bytes = 0;          // Σ over the tree: what processes share counts once for each
  uint64_t highest_resident_bytes = 0;  // of one process, since it started, by the kernel's own count
  uint64_t swapped_bytes = 0;
  uint64_t locked_bytes = 0;                // mlock
  uint64_t pinned_bytes = 0;                // by the kernel's count; drivers of accelerators may pin without it
  std::optional<uint64_t> available_bytes;  // of the machine
  std::optional<uint64_t> group_bytes;      // of the control group that holds the run, its file cache included
  /// Σ over the tree, what processes share counted once; nothing: not asked at this sample, which takes time.
  std::optional<uint64_t> proportional_bytes;
  std::optional<uint64_t> held_bytes;            // of that: anonymous and shared memory, no cache of files
  std::optional<uint64_t> machine_held_bytes;    // the same of all processes of the machine
  std::optional<uint64_t> kernel_bytes;          // of the kernel itself
  std::optional<uint64_t> machine_shared_bytes;  // shared memory and files in memory of the machine, mapped or not
  uint64_t mapped_shared_bytes = 0;              // of it what the run's processes map, once for each

  /// Surely resident in all: what is shared counted once, else the largest process alone.
  uint64_t SureBytes() const { return proportional_bytes.value_or(std::min(resident_bytes, highest_resident_bytes)); }
};

/// One command of the run.
struct CommandRun {
  std::vector<std::string> command;
  bool ended = false;
  int32_t exit_status = 0;  // as a shell counts: 128 + signal
  bool timed_out = false;
  int64_t wall_ns = 0;
  std::optional<uint64_t> highest_resident_bytes;  // of its largest process, exact; nothing: below the recorder's own
  bool had_children = true;                        // or may have had: its largest process is not all of it
  bool is_beside = false;                          // it ran beside the others, which alone are waited for
  bool was_stopped = false;                        // by the recorder, when the others had ended
  /// Of it and the children that it waited for, by the kernel's count; nothing: not recorded.
  std::optional<uint64_t> cpu_ns;
  std::optional<uint64_t> read_bytes;     // from storage; what came from the cache of files is not in it
  std::optional<uint64_t> written_bytes;  // to storage
};

struct AllocatorSample {
  int64_t time_ns = 0;
  uint32_t device = 0;  // as the framework counts
  uint64_t allocated_bytes = 0;
  uint64_t reserved_bytes = 0;
  uint64_t peak_allocated_bytes = 0;  // since the process started, also where the program reset the counter
  uint64_t peak_reserved_bytes = 0;
  uint64_t retry_count = 0;  // allocations that first had to give cached memory back
  uint64_t oom_count = 0;
};

struct FrameworkDevice {
  uint32_t device = 0;  // as the framework counts
  std::string uuid;     // as the vendor names it; empty: the framework does not say
  std::string name;
  uint64_t total_bytes = 0;
};

struct Gap {
  std::string what;
  std::string why;
  std::string how_to_get;
};

/// Whether somebody ends a run from outside by this signal: SIGINT, SIGTERM, SIGHUP, SIGQUIT.
bool IsEndingSignal(int32_t signal);

/// One process that recorded itself.
struct FrameworkProcess {
  std::string label;  // "rank0", "rank0-4711": the name of its files
  int32_t process_id = 0;
  uint32_t rank = 0;
  std::string framework;  // "torch 2.7.1"
  std::vector<FrameworkDevice> devices;
  std::vector<AllocatorSample> samples;  // by time
  std::vector<int32_t> forked_ids;       // children that record nothing
  std::vector<Gap> gaps;
  bool complete = false;  // false: it ended before it could write its end
};

struct MeasuredSession {
  std::string folder;
  double sample_rate_hz = 0;
  std::optional<uint64_t> machine_bytes;      // memory of the host
  std::optional<uint64_t> group_limit_bytes;  // of the control group that holds the run; nothing: no limit
  std::vector<CommandRun> commands;
  std::vector<DeviceFacts> devices;
  std::vector<DeviceSample> device_samples;  // by time
  std::vector<HostSample> host_samples;      // by time
  std::vector<FrameworkProcess> processes;   // by label
  std::vector<int32_t> mark_resets;          // processes that set their own highest mark of memory back
  std::vector<int32_t> tree;                 // every process of the run that a sample met
  std::vector<Gap> gaps;
  std::vector<int32_t> signals;                  // that came meanwhile to end the run (IsEndingSignal)
  std::map<std::string, std::string> variables;  // of the environment, those that decide how frameworks use memory
  bool ended = false;  // false: the recorder itself was killed, or the disk was full: later samples are missing
  uint64_t bad_line_count = 0;  // that could not be read
  uint64_t missed_samples = 0;  // that came too late or not at all
  int64_t clock_drift_ns = 0;   // of the wall clock against the monotonic one over the run
  uint64_t sampler_cpu_ns = 0;  // that the sampler itself took
};

/// Whether the folder is one of a measured run. cost: one stat
bool IsMeasuredSession(const std::string& folder);

/// errors: kNotFound when it is not a measured run, kIo, kLimitExceeded (a file beyond 1 GiB). Lines that cannot be
/// read are counted. cost: O(samples)
Result<MeasuredSession> ReadSession(const std::string& folder);

/// Adds the lines of `run.tsv`; what cannot be read is counted.
void AddRunLines(std::string_view text, MeasuredSession& session);
/// Adds the lines of one file of `processes/`; answers how many could not be read.
uint64_t AddProcessLines(std::string_view text, FrameworkProcess& process);

}  // namespace memstrata::measure
