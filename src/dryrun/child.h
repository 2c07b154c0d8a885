#pragma once
// Starts a program and waits for it. Arguments go to it as they are: no shell reads them.

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

/// error: kNotFound when the program cannot be started, kIo.
Result<ChildResult> RunChild(const std::vector<std::string>& command, const Environment& environment,
                             ChildOutput output);

}  // namespace memstrata::dryrun
