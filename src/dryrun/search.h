#pragma once
// The largest value of one parameter with which a program fits, found by running it again and again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dryrun/dry_run.h"

namespace memstrata::dryrun {

/// A parameter that each run gets: an environment variable, or what stands for `{}` in the command.
struct Parameter {
  std::string variable;  // empty: `{}` is replaced
  uint64_t low = 0;
  uint64_t high = 0;
};

/// "BATCH=1..64" (a variable) or "1..64" (an argument). error: kInvalidArgument.
Result<Parameter> ParseParameter(const std::string& text, bool has_name);

/// The request with the value in its place. error: kInvalidArgument when the command has no `{}` for it.
Result<DryRunRequest> WithValue(const DryRunRequest& request, const Parameter& parameter, uint64_t value);

struct Trial {
  uint64_t value = 0;
  DryRun run;
};

struct Search {
  Parameter parameter;
  std::optional<uint64_t> largest;  // none fits when unknown
  std::vector<Trial> trials;        // in the order in which they ran
};

using RunValue = std::function<Result<DryRun>(uint64_t value)>;

/// How a run ended that says nothing about memory: "ended with ValueError"; empty for one that does.
std::string OtherFailure(const DryRun& run);

/// Bisects: assumes that a program which fits with some value fits with every smaller one. A value with which it fails
/// for another reason than memory counts as too large, and its trial says so. error: kNotFound when that is the
/// smallest value. cost: 2 + log2(high - low) runs at most
Result<Search> FindLargest(const Parameter& parameter, const RunValue& run_value);
/// Every power of two between the bounds, and both bounds.
Result<Search> Sweep(const Parameter& parameter, const RunValue& run_value);

}  // namespace memstrata::dryrun
