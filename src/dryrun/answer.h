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

/// What all processes did, as if one had: reads, kernels and calls of the vendor's functions added up, every note once,
/// the first error. Its devices are those of the process with the highest peak.
ProcessRecord WholeProgram(const DryRun& run);

/// True when work areas of the vendor's libraries are in no figure, so that the allocated peak may be higher.
bool IsLowerBound(const DryRunRequest& request, const ProcessRecord& process);

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
