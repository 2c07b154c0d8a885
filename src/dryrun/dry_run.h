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
  kRanAfterErrors,  // out-of-memory errors were raised; the program handled them, went on and ended well
  kDoesNotFit,      // an out-of-memory error was raised and ended the program, or nothing was allocated after it
  kScriptFailed,    // it ended with another error, or a rank of it did while the command ended well
  kNoRecord,        // the card was used by processes that ended without leaving a record
  kCardNotUsed,
};

struct DryRun {
  std::vector<ProcessRecord> processes;  // the one with the highest peak first
  int32_t exit_status = 0;
  uint64_t host_peak_bytes = 0;
  int64_t wall_ns = 0;
  bool was_card_used = false;  // by any process, one without a record included

  /// A rank besides the first that an error ended, which launchers do not always tell; nullptr: none.
  const ProcessRecord* FailedRank() const;
  Verdict verdict() const;
  /// Of all processes.
  uint64_t OutOfMemoryCount() const;
  /// The highest peak of reserved memory among the processes; unknown when no hook said.
  std::optional<uint64_t> PeakReservedBytes() const;
  /// The first request that failed; unknown when none did or none was told of.
  std::optional<uint64_t> RefusedBytes() const;
};

/// error: kNotFound when the program cannot be started; kIo, kCorruptInput when its records cannot be read.
Result<DryRun> RunOnce(const DryRunRequest& request, const Stage& stage);

}  // namespace memstrata::dryrun
