#pragma once
// What `memstrata accept` is asked to prove: a workload as it will be used, and the limits that it must keep. Read from
// a TOML file (docs/reference/accept.md, docs/reference/json/acceptance.schema.json).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accept/placeholders.h"
#include "accept/tolerance.h"
#include "base/result.h"

namespace memstrata::accept {

struct WorkloadSpec {
  Command command;     // either this …
  std::string entry;   // … or a Python function, "module:function"
  std::string python;  // the interpreter for functions
  std::vector<Command> beside;
  uint64_t copies = 1;        // of the workload, at once
  uint64_t warmup_count = 0;  // iterations of an entry, whole runs of a command
  uint64_t iteration_count = 1;
  uint64_t repeat_count = 3;
  double timeout_s = 600;
  double sample_rate_hz = 10;
  std::string capture = "light";  // what frameworks record
  std::vector<std::string> inputs;
};

struct LimitsSpec {
  std::optional<uint64_t> device_peak_bytes;     // of each device, by all
  std::optional<uint64_t> framework_peak_bytes;  // reserved by the frameworks, of each device
  std::optional<uint64_t> host_peak_bytes;
  std::optional<double> run_time_s;
  std::optional<double> iteration_time_s;
  std::optional<double> throughput_per_s;  // at least; items of `items_per_iteration`
  double items_per_iteration = 1;
  std::string items_parameter;  // a parameter that says it instead, as the batch size of a sweep; empty: none
  uint64_t error_count = 0;
  std::optional<uint64_t> allocator_retry_count;
  std::optional<uint64_t> growth_bytes;       // per iteration
  std::optional<uint64_t> host_growth_bytes;  // per iteration, of the process
};

/// What must stay free on each device: nothing asked, learned from the repeats, or given.
struct MarginSpec {
  bool is_asked = false;
  std::optional<GivenTolerance> given;     // of the capacity; empty: learned from the spread of the repeats
  std::optional<uint64_t> capacity_bytes;  // empty: what the device says
};

struct QualitySpec {
  Command command;  // prints a number as its last line; or
  std::string function;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::string output;  // a file that the workload writes, compared with
  std::string reference;
  std::optional<double> tolerance;  // of each number; empty: the bytes must be equal

  bool IsAsked() const { return !command.empty() || !function.empty() || !output.empty(); }
};

struct Spec {
  std::string name;
  std::string hash;  // XXH3, 128 bits, of the text
  WorkloadSpec workload;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> parameters;  // {NAME} in commands and environment; arguments of functions
  std::map<std::string, double> maximum;          // the largest value of a parameter in use
  LimitsSpec limits;
  MarginSpec margin;
  QualitySpec quality;
  std::map<std::string, std::vector<std::string>> sweep;

  /// How many limits are set beside that on errors, which always holds.
  size_t CheckCount() const;
};

/// errors: kCorruptInput (no TOML), kInvalidArgument (an unknown key or {NAME}, a value of the wrong kind, nothing to
/// prove), with the key's full name; kLimitExceeded (a sweep of more than 1,000 combinations)
Result<Spec> ParseSpec(std::string_view text);

/// The specification with other parameters, as a sweep runs it.
Spec WithParameters(const Spec& spec, const std::map<std::string, std::string>& parameters);
/// Every combination of the values to sweep, the last name changing fastest.
std::vector<std::map<std::string, std::string>> Combinations(const Spec& spec);

/// How many items one iteration does. Parameters that say it were checked to be numbers.
double ItemsPerIteration(const Spec& spec);

}  // namespace memstrata::accept
