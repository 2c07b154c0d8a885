#pragma once
// What a verb of `memstrata` is: a name, its flags as data, and a function. The flags feed the parser, `--help`, the
// shell completions, the manual page and docs/reference/cli.md, so that none of these can disagree. Verbs are listed in
// cli/subcommands.cpp; only cli/parser.cpp knows the flag library.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace memstrata::cli {

struct FlagSpec {
  std::string_view name;        // long form with dashes: "--top"
  std::string_view short_name;  // "-o", or empty
  std::string_view value_name;  // "N"; empty for a switch
  std::string_view help;        // one sentence, with the default where there is one
  std::span<const std::string_view> choices = {};
  bool repeatable = false;
};

/// Exit statuses, the same for every verb.
enum ExitStatus : int {
  kExitOk = 0,        // fine, fits, passes
  kExitError = 1,     // unreadable input, I/O, internal
  kExitUsage = 2,     // the command line is wrong
  kExitAnswerNo = 3,  // a valid answer that is "no"
};

/// The parsed command line of one verb.
class Arguments {
 public:
  bool Has(std::string_view flag) const { return values_.contains(flag); }
  /// The (last) value of a flag.
  std::optional<std::string> Get(std::string_view flag) const;
  /// All values of a repeatable flag, in order.
  std::vector<std::string> All(std::string_view flag) const;
  /// A flag's value as an unsigned integer; kInvalidArgument names the flag when it is not one.
  Result<std::optional<uint64_t>> GetUnsigned(std::string_view flag) const;

  std::vector<std::string> positionals;
  /// What follows `--` (for verbs that start a program).
  std::vector<std::string> command;
  void Add(std::string_view flag, std::string value) { values_[std::string(flag)].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

struct PositionalSpec {
  std::string_view name;  // "FILE"; empty when the verb takes none
  std::string_view help;
  uint32_t min_count = 0;
  uint32_t max_count = 0;  // kUnlimited for a list
};
inline constexpr uint32_t kUnlimited = UINT32_MAX;

struct Subcommand {
  std::string_view name;
  std::string_view summary;      // one line in the list of verbs
  std::string_view description;  // a paragraph in `memstrata VERB --help`
  PositionalSpec positional;
  std::span<const FlagSpec> flags;
  std::span<const std::string_view> examples;  // whole command lines
  int (*run)(const Arguments& arguments, Console& console);
  bool takes_command = false;  // accepts `-- CMD…`
};

/// The one list of verbs (cli/subcommands.cpp).
std::span<const Subcommand* const> AllSubcommands();

/// Parses argv and runs the verb; prints help, version and usage errors itself. Returns the exit status.
int ParseAndRun(int argc, char** argv, Console& console);

}  // namespace memstrata::cli
