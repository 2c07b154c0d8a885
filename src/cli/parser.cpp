// Turns the FlagSpecs of all verbs into a command line. The only file that includes the flag library: it costs many
// seconds of compile time.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/subcommand.h"

namespace memstrata::cli {
namespace {

constexpr std::string_view kDescription =
    "Where accelerator memory goes, over time, and why.\n"
    "Reads what PyTorch and other frameworks already write. Nothing in a file is executed, nothing leaves this "
    "machine.";
constexpr std::string_view kFooter =
    "Exit status: 0 fine; 1 the input cannot be read, or I/O failed; 2 the command line is wrong; 3 a valid answer "
    "that "
    "is \"no\".\n`memstrata VERB --help` shows the flags and examples of a verb.";

std::string Footer(const Subcommand& verb) {
  std::string text = fmt::format("{}\n", verb.description);
  if (!verb.examples.empty()) text += "\nExamples:\n";
  for (std::string_view example : verb.examples) text += fmt::format("  {}\n", example);
  return text;
}

void AddFlag(CLI::App& app, const FlagSpec& flag, Arguments& arguments) {
  const std::string names =
      flag.short_name.empty() ? std::string(flag.name) : fmt::format("{},{}", flag.short_name, flag.name);
  if (flag.value_name.empty()) {
    app.add_flag_callback(
        names, [&arguments, name = flag.name] { arguments.Add(name, ""); }, std::string(flag.help));
  } else {
    CLI::Option* const option = app.add_option_function<std::vector<std::string>>(
        names,
        [&arguments, name = flag.name](const std::vector<std::string>& values) {
          for (const std::string& value : values) arguments.Add(name, value);
        },
        std::string(flag.help));
    option->type_name(std::string(flag.value_name))->type_size(1)->allow_extra_args(false);
    if (!flag.repeatable) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (!flag.choices.empty()) {
      option->check(CLI::IsMember(std::vector<std::string>(flag.choices.begin(), flag.choices.end())));
    }
  }
}

void AddVerb(CLI::App& app, const Subcommand& verb, Arguments& arguments) {
  CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
  sub->footer(Footer(verb));
  for (const FlagSpec& flag : verb.flags) AddFlag(*sub, flag, arguments);
  if (verb.positional.max_count > 0) {
    CLI::Option* option =
        sub->add_option(std::string(verb.positional.name), arguments.positionals, std::string(verb.positional.help));
    const auto most = verb.positional.max_count == kUnlimited ? CLI::detail::expected_max_vector_size
                                                              : static_cast<int>(verb.positional.max_count);
    option->expected(static_cast<int>(verb.positional.min_count), most)->type_name("");
    option->required(verb.positional.min_count > 0);
  }
}

// Splits what follows the first "--" off, for verbs that start a program.
int SplitCommand(int argc, char** argv, Arguments& arguments) {
  if (argc < 2) return argc;
  for (const Subcommand* verb : AllSubcommands()) {
    if (!verb->takes_command || verb->name != argv[1]) continue;
    for (int i = 2; i < argc; ++i) {
      if (std::string_view(argv[i]) != "--") continue;
      arguments.command.assign(argv + i + 1, argv + argc);
      return i;
    }
  }
  return argc;
}

}  // namespace

std::optional<std::string> Arguments::Get(std::string_view flag) const {
  const auto found = values_.find(flag);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::All(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<std::optional<uint64_t>> Arguments::GetUnsigned(std::string_view flag) const {
  const std::optional<std::string> text = Get(flag);
  if (!text) return std::optional<uint64_t>{};
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (problem != std::errc{} || end != text->data() + text->size()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} takes a whole number, not \"{}\".", flag, *text));
  }
  return std::optional<uint64_t>{value};
}

int ParseAndRun(int argc, char** argv, Console& console) {
  CLI::App app{std::string(kDescription), "memstrata"};
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "memstrata " MEMSTRATA_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  Arguments arguments;
  for (const Subcommand* verb : AllSubcommands()) AddVerb(app, *verb, arguments);
  const int parsed_argc = SplitCommand(argc, argv, arguments);
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kExitUsage;
  }
  try {
    app.parse(parsed_argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return console.Finish(kExitOk);
  } catch (const CLI::ParseError& problem) {
    const std::string verb = argc > 1 && argv[1][0] != '-' ? fmt::format(" {}", argv[1]) : "";
    console.Message(
        fmt::format("{}\nTry: memstrata{} --help", problem.what(), app.get_subcommands().empty() ? "" : verb));
    return kExitUsage;
  }
  for (const Subcommand* verb : AllSubcommands()) {
    if (!app.got_subcommand(std::string(verb->name))) continue;
    console.set_quiet(arguments.Has("--quiet"));
    return verb->run(arguments, console);
  }
  return kExitUsage;
}

}  // namespace memstrata::cli
