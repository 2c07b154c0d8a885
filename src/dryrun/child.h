#pragma once
// Starts a program and waits for it. Arguments go to it as they are: no shell reads them.

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace memstrata::dryrun {

/// Environment variables of a child, by name.
using Environment = std::map<std::string, std::string>;
Environment OwnEnvironment();

enum class ChildOutput : uint8_t { kInherit, kToStderr, kCapture };

struct ChildResult {
  int32_t exit_status = 0;       // as a shell counts: 128 + signal when a signal ended it
  uint64_t host_peak_bytes = 0;  // largest resident size of it or one of its children
  int64_t wall_ns = 0;
  std::string output;  // with kCapture, at most kMaxCapturedBytes
};
inline constexpr size_t kMaxCapturedBytes = size_t{1} << 20;

struct StartOptions {
  int stdout_descriptor = -1;  // becomes its standard output; -1: inherited
  int stderr_descriptor = -1;
  // The same addresses in every run. Frameworks keep tensors in tables by address, so that random ones would free them
  // in another order each time (autocast's copies of weights at the end of its block).
  bool has_fixed_addresses = false;
  const sigset_t* signal_mask = nullptr;  // of its main thread; nullptr: inherited
};

/// Starts a program and does not wait for it. error: kNotFound when it cannot be started.
Result<pid_t> StartChild(const std::vector<std::string>& command, const Environment& environment,
                         const StartOptions& options);

/// As a shell counts: the exit status, or 128 + signal when a signal ended it. `wait_status` is what wait() gave.
int32_t ExitStatusOf(int wait_status);

inline constexpr uint64_t kBytesPerMaxrss = 1024;  // Linux counts ru_maxrss in KiB

/// Starts a program at fixed addresses and waits for it. error: kNotFound when it cannot be started, kIo.
Result<ChildResult> RunChild(const std::vector<std::string>& command, const Environment& environment,
                             ChildOutput output);

}  // namespace memstrata::dryrun
