#include "dryrun/search.h"

#include <fmt/format.h>

#include <charconv>

namespace memstrata::dryrun {
namespace {

constexpr std::string_view kPlace = "{}";

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Runs one value and says whether it fits.
Result<bool> Try(Search& search, const RunValue& run_value, uint64_t value) {
  MEMSTRATA_ASSIGN_OR_RETURN(DryRun run, run_value(value));
  const bool fits = run.verdict() == Verdict::kFits;
  search.trials.push_back({value, std::move(run)});
  if (fits && value > search.largest.value_or(0)) search.largest = value;
  return fits;
}

}  // namespace

Result<Parameter> ParseParameter(const std::string& text, bool has_name) {
  Parameter parameter;
  std::string_view range = text;
  const size_t equals = text.find('=');
  const size_t dots = text.find("..");
  const auto wrong = [&] {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not of the form {}1..64.", text, has_name ? "NAME=" : ""));
  };
  if (dots == std::string::npos || has_name != (equals != std::string::npos && equals > 0)) return wrong();
  if (has_name) {
    parameter.variable = text.substr(0, equals);
    range.remove_prefix(equals + 1);
  }
  const size_t middle = range.find("..");
  const std::optional<uint64_t> low = Number(range.substr(0, middle));
  const std::optional<uint64_t> high = Number(range.substr(middle + 2));
  if (!low || !high || *low == 0 || *low > *high) return wrong();
  parameter.low = *low;
  parameter.high = *high;
  return parameter;
}

Result<DryRunRequest> WithValue(const DryRunRequest& request, const Parameter& parameter, uint64_t value) {
  DryRunRequest changed = request;
  const std::string text = std::to_string(value);
  if (!parameter.variable.empty()) {
    changed.variables[parameter.variable] = text;
    return changed;
  }
  bool found = false;
  for (std::string& argument : changed.command) {
    for (size_t at = argument.find(kPlace); at != std::string::npos; at = argument.find(kPlace, at + text.size())) {
      argument.replace(at, kPlace.size(), text);
      found = true;
    }
  }
  if (!found) return Fail(ErrorCode::kInvalidArgument, "The command has no {} that --find-arg could replace.");
  return changed;
}

std::string OtherFailure(const DryRun& run) {
  switch (run.verdict()) {
    case Verdict::kScriptFailed:
      if (run.exit_status == 0) return fmt::format("had rank {} end with an error", run.FailedRank()->rank);
      return run.processes.empty() || run.processes.front().error_type.empty()
                 ? fmt::format("ended with status {}", run.exit_status)
                 : fmt::format("ended with {}", run.processes.front().error_type);
    case Verdict::kNoRecord:
      return "left no record of its use of the card";
    case Verdict::kCardNotUsed:
      return "did not use the card";
    case Verdict::kFits:
    case Verdict::kRanAfterErrors:
    case Verdict::kDoesNotFit:
      return "";
  }
  return "";
}

Result<Search> FindLargest(const Parameter& parameter, const RunValue& run_value) {
  Search search = {parameter, {}, {}};
  MEMSTRATA_ASSIGN_OR_RETURN(const bool low_fits, Try(search, run_value, parameter.low));
  if (const std::string problem = OtherFailure(search.trials.back().run); !problem.empty()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("With {}, the smallest value, the program {}: there is nothing to search.", parameter.low,
                            problem));
  }
  if (!low_fits || parameter.low == parameter.high) return search;
  MEMSTRATA_ASSIGN_OR_RETURN(const bool high_fits, Try(search, run_value, parameter.high));
  if (high_fits) return search;
  uint64_t fits = parameter.low, fails = parameter.high;
  while (fails - fits > 1) {
    const uint64_t middle = fits + (fails - fits) / 2;
    MEMSTRATA_ASSIGN_OR_RETURN(const bool middle_fits, Try(search, run_value, middle));
    (middle_fits ? fits : fails) = middle;
  }
  return search;
}

Result<Search> Sweep(const Parameter& parameter, const RunValue& run_value) {
  Search search = {parameter, {}, {}};
  uint64_t value = parameter.low;
  for (;;) {
    MEMSTRATA_TRY(Try(search, run_value, value));
    if (value == parameter.high) return search;
    uint64_t next = 1;
    while (next <= value) next *= 2;
    value = next < parameter.high ? next : parameter.high;
  }
}

}  // namespace memstrata::dryrun
