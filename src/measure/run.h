#pragma once
// One measured run: starts one command or several at once, samples devices and host meanwhile, lets the frameworks
// record themselves, and leaves a session folder.
//
//   RunRequest request;
//   request.commands = {{"python", "train.py"}};
//   request.folder = "run.memstrata";
//   MEMSTRATA_ASSIGN_OR_RETURN(const MeasuredSession session, MeasureRun(request));
//   const RunPeaks peaks = FindPeaks(session);

#include <map>

#include "measure/peaks.h"

namespace memstrata::measure {

/// How much the frameworks record. kOff: nothing; device and host are sampled all the same.
enum class CaptureMode : uint8_t { kOff, kLight, kPython, kFull, kRing };
inline constexpr std::string_view kCaptureModeNames[] = {"off", "light", "python", "full", "ring"};

struct RunRequest {
  std::vector<std::vector<std::string>> commands;  // started at once
  std::vector<std::vector<std::string>> beside;    // started with them, and ended when they have ended
  bool ends_all = false;                           // nothing of the process tree is left running
  std::map<std::string, std::string> variables;    // of the environment, set for the programs
  std::string folder;                              // NAME.memstrata
  double sample_rate_hz = 10;                      // up to kHighestRateHz
  std::optional<int64_t> timeout_ns;               // then SIGTERM, and SIGKILL kGraceNs later
  CaptureMode mode = CaptureMode::kPython;
  std::optional<uint64_t> most_entries;          // of a framework's history, per device
  int64_t save_every_ns = 60'000'000'000;        // write the recording so far this often; 0: only at the end
  uint64_t thinning_bytes = uint64_t{64} << 20;  // of the log; for a run that lasts for days: see Sampler
  int stdout_descriptor = -1;                    // of the programs; -1: inherited
  int stderr_descriptor = -1;
};
inline constexpr double kHighestRateHz = 1000;
inline constexpr int64_t kGraceNs = 10'000'000'000;

/// Fails when `folder` holds something that is not a session: it would be replaced. To be asked before a program runs.
Status CheckReplaceable(const std::string& folder);

/// Runs the commands to their end. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 that arrive meanwhile are
/// forwarded. The answer is what ReadSession() gives for the folder, which is private (0700).
/// errors: kInvalidArgument, kNotFound when a command cannot be started, kIo when the folder cannot be made; a disk
/// that is full later is no error: the session then has not `ended`. Not for several threads at once: signals belong to
/// the process.
Result<MeasuredSession> MeasureRun(const RunRequest& request);

}  // namespace memstrata::measure
