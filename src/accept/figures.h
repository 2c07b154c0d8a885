#pragma once
// What was measured of one repeat of a workload, as far as judgements need it. Plain data, so that they are tested with
// figures that no machine has to produce.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace memstrata::accept {

/// A figure and how far to trust it. Without a value `basis` says why there is none.
struct Measured {
  std::optional<double> value;
  bool is_lower_bound = false;  // the true value may be higher
  std::string basis;            // one sentence
};

struct DeviceFigures {
  std::string id;      // "device 0 (NVIDIA H100 80GB HBM3)"
  std::string driver;  // its version; empty: the vendor does not say
  std::string uuid;
  std::optional<uint64_t> capacity_bytes;
  Measured used_bytes;                 // by everything on it
  Measured framework_bytes;            // reserved by the frameworks of the run
  std::optional<bool> used_by_others;  // nothing: the vendor does not say
};

/// One call of an entry.
struct Iteration {
  bool is_warmup = false;
  int64_t duration_ns = 0;
  std::optional<uint64_t> device_live_bytes;  // after it
  std::optional<uint64_t> resident_bytes;
};

struct RepeatFigures {
  std::string folder;
  std::vector<DeviceFigures> devices;
  std::string why_no_device = "No device was measured.";  // without devices
  Measured host_bytes;
  Measured cpu_time_s;     // of the commands, with the children that they waited for
  Measured read_bytes;     // from storage
  Measured written_bytes;  // to storage
  Measured run_time_s;
  Measured iteration_time_s;   // median of the measured iterations; of a command, its run
  Measured growth_bytes;       // per iteration: of the devices where one is used, else of the process
  Measured host_growth_bytes;  // per iteration, of the process
  Measured retry_count;
  uint64_t error_count = 0;
  std::string error_text;        // of the first; empty without one
  bool was_interrupted = false;  // someone ended it from outside, or the recording was cut off
  Measured quality;              // the printed number; or, of a comparison, 1 for equal and 0 for not
  std::string quality_text;      // what the comparison found
  std::vector<Iteration> iterations;
  std::vector<std::string> frameworks;           // "torch 2.7.1"
  std::map<std::string, std::string> variables;  // of the environment, that decide how frameworks use memory
  std::vector<std::string> gaps;                 // what the recording lacks, and why
};

/// The growth of what is live from the first to the last measured iteration, per iteration: of the device where one is
/// used, else of the process.
Measured GrowthOf(const std::vector<Iteration>& iterations);
/// The same of the process alone.
Measured HostGrowthOf(const std::vector<Iteration>& iterations);
/// The median of the measured iterations.
Measured MedianTimeOf(const std::vector<Iteration>& iterations);

}  // namespace memstrata::accept
