#pragma once
// One dry run: a program on a simulated card, and what it took.
//
//   wheel = ProbeWheel(InterpreterOf(command), AnsweredFunctions());
//   stage = Stage::Create(request, wheel);
//   run = RunOnce(request, stage);     // the program has ended; the records are read, the snapshots lie in the stage

#include <optional>
#include <string>
#include <vector>

#include "dryrun/records.h"
#include "dryrun/request.h"
#include "dryrun/stage.h"

namespace memstrata::dryrun {

enum class Verdict : uint8_t {
  kFits,
  kDoesNotFit,    // an out-of-memory error was raised, whether the program caught it or not
  kScriptFailed,  // it ended with another error
  kCardNotUsed,
};

struct DryRun {
  std::vector<ProcessRecord> processes;  // the one with the highest peak first
  int32_t exit_status = 0;
  uint64_t host_peak_bytes = 0;
  int64_t wall_ns = 0;

  Verdict verdict() const;
  /// The highest peak of reserved memory among the processes; unknown when no hook said.
  std::optional<uint64_t> PeakReservedBytes() const;
};

/// error: kNotFound when the program cannot be started; kIo, kCorruptInput when its records cannot be read.
Result<DryRun> RunOnce(const DryRunRequest& request, const Stage& stage);

}  // namespace memstrata::dryrun
