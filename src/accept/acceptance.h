#pragma once
// The answer of `memstrata accept`: one verdict with its reasons. The fields are those of
// docs/reference/json/accept.schema.json; writers only format them.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accept/judge.h"

namespace memstrata::accept {

/// One point of what an acceptance should have looked at.
struct ChecklistItem {
  std::string_view item;
  bool is_done = false;
  std::string text;  // the evidence, or what is lacking
};

struct InputFile {
  std::string file;
  std::optional<uint64_t> size_bytes;  // empty: it cannot be read
  std::string hash;                    // XXH3, 128 bits, as `xxh128sum` prints it
};

/// What ran, on what.
struct Identity {
  std::string program_version;                  // of memstrata; empty: not said
  std::string spec_hash;                        // of the specification's text, as InputFile::hash
  std::map<std::string, std::string> settings;  // of the workload and its quality, as they were in force
  std::vector<std::string> command;
  std::string system;                   // kernel and architecture
  std::vector<std::string> frameworks;  // with versions
  std::vector<std::string> devices;     // with the driver
  std::vector<InputFile> inputs;
  std::map<std::string, std::string> inherited;  // variables of the environment that decide how memory is used
};

struct Acceptance {
  Spec spec;
  Verdict verdict = Verdict::kUndecided;
  std::vector<Check> checks;
  std::vector<ChecklistItem> checklist;
  std::vector<RepeatFigures> repeats;
  Identity identity;
};

/// One combination of a sweep.
struct SweepRow {
  std::map<std::string, std::string> parameters;
  Verdict verdict = Verdict::kUndecided;
  std::optional<double> memory_bytes;  // the worst device peak, else the framework's, else the host's
  std::string memory_basis;            // which of them
  bool is_lower_bound = false;         // the true peak may be higher
  double memory_scatter = 0;           // how far the repeats lie apart, as a part
  double latency_scatter = 0;          // the same of the latency, and so of the throughput
  std::optional<double> latency_s;     // of an iteration, the slowest repeat
  std::optional<double> throughput_per_s;
  std::optional<double> quality;
  bool is_pareto = false;  // runs without errors, and no other is at least as good in all and better in one
};

/// Runs the repeats and judges them. `progress` is told what happens; may be empty.
/// errors: kInvalidArgument (an input cannot be read), kNotFound, kIo, as RunRepeat
Result<Acceptance> Accept(const Spec& spec, const std::string& folder,
                          const std::function<void(std::string_view)>& progress);

/// The judgement alone: of figures that were measured before.
Acceptance Conclude(const Spec& spec, std::vector<RepeatFigures> repeats, Identity identity);

SweepRow RowOf(const std::map<std::string, std::string>& parameters, const Acceptance& acceptance);
/// Sets is_pareto: less memory, less latency, more throughput, better quality (`higher_is_better` says which that is).
/// What a row does not know makes it no better than any; memory of a device and of the host are not compared. Figures
/// that lie no farther apart than the repeats of either are equal, and a lower bound is below nothing.
void MarkPareto(std::vector<SweepRow>& rows, bool higher_is_better);

/// Takes out folders, host and arguments: what may be shown to strangers.
inline constexpr const char* kRedactedCommand = "removed";  // in place of the command
void RedactAcceptance(Acceptance& acceptance);
/// Of parameters: those that are numbers stay.
void RedactParameters(std::map<std::string, std::string>& parameters);

}  // namespace memstrata::accept
