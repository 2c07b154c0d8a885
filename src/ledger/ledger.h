#pragma once
// Where the memory of a device, and of the host, is at one moment of a measured run. Every balance adds up to the byte:
// Σ known lines + unexplained = used.

#include "ledger/curves.h"
#include "query/session_index.h"

namespace memstrata::ledger {

enum class Term : uint8_t {
  kTensors,              // live blocks of one category, as requested
  kRounding,             // what their blocks are larger
  kIdle,                 // reserved by the framework, in no block
  kPrivatePools,         // the same in private pools, as those of graphs
  kProcessOutside,       // of a recorded process beside its framework: context, libraries, collectives
  kUnrecordedProcesses,  // processes of the run that recorded nothing
  kOtherProcesses,       // that are not of the run
  kDriverReserve,        // kept by driver and firmware
  kResident,             // host: what the run's processes hold beside tensors
  kKernel,               // host: the kernel itself
};
inline constexpr std::string_view kTermNames[] = {
    "tensors",         "rounding",       "idle",     "private_pools", "process_outside", "unrecorded_processes",
    "other_processes", "driver_reserve", "resident", "kernel",
};

struct Line {
  Term term = Term::kTensors;
  std::string process;           // label of the process; empty: not of one
  std::string category;          // with kTensors: a name of the project's vocabulary
  std::optional<int64_t> bytes;  // nothing: not known, `note` says why
  std::string note;
};

struct Balance {
  int64_t time_ns = 0;  // of the sample
  uint64_t used_bytes = 0;
  std::vector<Line> lines;
  int64_t unexplained_bytes = 0;
  bool is_approximate = false;  // block sizes of past moments follow from the allocator's rounding rules
};

struct DeviceLedger {
  uint32_t device = 0;  // in MeasuredSession::devices
  Balance balance;
  std::vector<CurvePoint> curve;
};

struct Ledger {
  std::string at;
  std::vector<DeviceLedger> devices;
  std::optional<Balance> host;      // nothing: no sample, or the kernel does not say what is available
  measure::HostDetail host_detail;  // at its sample, no part of the sum
  std::vector<measure::Gap> gaps;
};

/// `recording`: the session's framework recordings, or nullptr where it has none. `at`: "peak" (of each device by
/// itself; of the run's resident memory for the host), "end" (while the programs still ran) or a time after the first
/// sample ("1.5s"). errors: kInvalidArgument   cost: O(samples + events)
Result<Ledger> MakeLedger(const measure::MeasuredSession& session, SessionIndex* recording, const std::string& at);

}  // namespace memstrata::ledger
