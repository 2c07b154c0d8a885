#pragma once
// The answer of `memstrata dryrun`: the data that its writers format (docs/reference/json/dryrun.schema.json).

#include <optional>
#include <string>
#include <vector>

#include "dryrun/dry_run.h"
#include "dryrun/request.h"
#include "dryrun/search.h"
#include "dryrun/wheel.h"

namespace memstrata::dryrun {

struct Note {
  std::string severity;  // info, warning, data_loss, error
  std::string code;
  uint64_t count = 1;
  std::string text;
};

struct DryRunAnswer {
  DryRunRequest request;
  Wheel wheel;
  DryRun run;  // of a search: the largest value that fits, else the last that ran
  std::optional<Search> search;
  std::string session_folder;  // empty: none was written
  std::string snapshot_path;   // of the process with the highest peak; empty: none
  bool has_real_card = false;  // this machine has one; it was left alone
};

/// The command as the answer and the session show it: without the arguments of the program, unless they are asked for.
/// What is left of "/env/bin/python -u train.py --token x" is "/env/bin/python", "train.py".
std::vector<std::string> ShownCommand(const DryRunRequest& request);

/// What all processes did, as if one had: reads, kernels and calls of the vendor's functions added up, every note once,
/// the first error. Its devices are those of the process with the highest peak.
ProcessRecord WholeProgram(const DryRun& run);

/// What the allocated peak of a process is worth.
enum class PeakBasis : uint8_t {
  kExact,
  kDependsOnValues,  // exact, if no shape depends on a value that was read
  kUnfinished,       // a lower bound: the run was ended before every optimizer had made a step
  kNoWorkAreas,      // a lower bound: work areas of the vendor's libraries are not in it
  kNoTime,           // a lower bound: blocks that another stream still uses are freed later on a card
};
PeakBasis BasisOf(const DryRunRequest& request, const ProcessRecord& process);

/// The error that ended the program where one did, else the first: later ones are of a program that goes on after it.
/// The device has one at least.
const OutOfMemory& TellingError(const ProcessRecord& process, const DeviceRecord& device);

/// What limits the answer, worst first: assumptions, guesses, functions without an answer.
std::vector<Note> NotesOf(const DryRunAnswer& answer);

/// True when this machine has a card of the vendor with a driver.
bool HasRealCard();

/// Bytes that nobody took at the peak: capacity - context - peak of the card.
uint64_t MarginBytes(const DryRunRequest& request, const DeviceRecord& device);

struct AttentionUse {
  std::string name;                      // "flash attention"
  std::optional<uint64_t> launch_count;  // unknown for cuDNN, which does not say what it runs
};

/// Which implementations of attention ran, from the names of kernels and the graphs given to cuDNN. PyTorch's plain
/// products and softmax are not told from others.
std::vector<AttentionUse> AttentionUses(const ProcessRecord& process);

}  // namespace memstrata::dryrun
