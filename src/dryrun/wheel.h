#pragma once
// Which PyTorch a program would import, and whether the simulated card can serve it. Nothing of it is imported or run:
// the interpreter says where it lies (python/memstrata/dryrun_probe.py), the rest is read from the files.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cards.h"

namespace memstrata::dryrun {

struct Wheel {
  std::string interpreter;
  std::string folder;         // of the package `torch`
  std::string torch_version;  // "2.7.1+cu126"
  std::string cuda_version;   // "12.6"
  std::string cudnn_version;  // "9.5.1.17"; empty: the package does not say
  std::string nccl_version;
  std::vector<int32_t> architectures;   // 75, 80, 86 … that it has kernels for, ascending
  int32_t portable_architecture = 0;    // from which on its kernels can be compiled for any card; 0: they cannot
  std::vector<std::string> shells;      // names of the vendor's libraries that it asks for
  std::vector<std::string> unanswered;  // the vendor's functions that it uses and the simulated card does not answer
  size_t vendor_function_count = 0;     // all that it uses
};

/// The interpreter that will run `command`: the command itself, the one that its first line names, or python3.
std::string InterpreterOf(const std::vector<std::string>& command);

/// Reads what `interpreter` would import. `answered` are the functions of the simulated card.
/// error: kNotFound (no PyTorch there), kUnsupportedFormat (a build without CUDA), kIo
/// cost: one start of the interpreter and the symbol tables of the package: 0.3 s and 300 MiB for PyTorch 2.11
Result<Wheel> ProbeWheel(const std::string& interpreter, const std::vector<std::string>& answered);

/// The values of the probe's lines "key<TAB>value".
std::map<std::string, std::string> ParseProbe(const std::string& output);
/// Refuses a card that none of the package's kernels runs on: there, its first one would fail. A kernel runs on cards
/// of its own major version from its minor version on. error: kUnsupportedFormat
Status CheckKernels(const Wheel& wheel, const plan::Card& card);
/// "sm_75 sm_80 sm_90a compute_90" → 75, 80, 90.
std::vector<int32_t> ParseArchitectures(const std::string& text);
/// The number that a library gives for its version: parts of "9.5.1.17" as 9 * 10000 + 5 * 100 + 1 with scale 100.
int32_t VersionNumber(const std::string& version, int32_t major_scale, int32_t minor_scale);

}  // namespace memstrata::dryrun
