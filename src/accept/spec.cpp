#include "accept/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "accept/content_hash.h"
#include "accept/spec_table.h"

namespace memstrata::accept {
namespace {

constexpr uint64_t kMostCount = 1'000'000;
constexpr uint64_t kMostCopies = 1024;
constexpr double kMostTimeoutS = 30.0 * 24 * 3600;
constexpr uint64_t kHighestRateHz = 1000;
constexpr size_t kMostCombinations = 1000;
constexpr std::string_view kCaptures[] = {"off", "light", "python", "full", "ring"};

Status ReadWorkload(SpecTable table, WorkloadSpec& workload) {
  workload.command = table.Texts("command");
  workload.entry = table.Text("entry").value_or("");
  workload.python = table.Text("python").value_or("python3");
  workload.copies = table.Count("copies", 1, kMostCopies).value_or(1);
  workload.warmup_count = table.Count("warmup", 0, kMostCount).value_or(0);
  const std::optional<uint64_t> iterations = table.Count("iterations", 1, kMostCount);
  workload.iteration_count = iterations.value_or(1);
  workload.repeat_count = table.Count("repeats", 1, kMostCount).value_or(3);
  workload.timeout_s = table.Number("timeout_s", 0.001).value_or(600);
  workload.sample_rate_hz = table.Number("sample_rate_hz", 0.1).value_or(10);
  workload.capture = table.Text("capture").value_or("light");
  workload.inputs = table.Texts("inputs");
  if (workload.command.empty() == workload.entry.empty())
    table.Fail("command", workload.entry.empty() ? "is missing, or workload.entry instead"
                                                 : "and workload.entry are given; it is one, and not both");
  if (!workload.entry.empty() && workload.entry.find(':') == std::string::npos)
    table.Fail("entry", "names a function as \"module:function\"");
  if (iterations && workload.entry.empty())
    table.Fail("iterations", "is for an entry; a command is one iteration, repeated by workload.repeats");
  if (workload.timeout_s > kMostTimeoutS) table.Fail("timeout_s", "is more than 30 days");
  if (workload.sample_rate_hz > static_cast<double>(kHighestRateHz)) table.Fail("sample_rate_hz", "is at most 1000");
  if (std::find(std::begin(kCaptures), std::end(kCaptures), workload.capture) == std::end(kCaptures))
    table.Fail("capture", "is one of off, light, python, full, ring");
  return table.Finish();
}

Status ReadBeside(SpecTable& file, WorkloadSpec& workload) {
  for (SpecTable& table : file.Tables("beside")) {
    workload.beside.push_back(table.Texts("command"));
    if (workload.beside.back().empty()) table.Fail("command", "is missing");
    MEMSTRATA_TRY(table.Finish());
  }
  return {};
}

void ReadMargin(SpecTable& table, MarginSpec& margin) {
  margin.capacity_bytes = table.Bytes("capacity");
  const std::optional<std::string> text = table.Text("margin");
  margin.is_asked = text.has_value();
  if (margin.capacity_bytes && !margin.is_asked)
    table.Fail("capacity", "is what limits.margin is taken of; give it too");
  if (!text || *text == "learned") return;
  const Result<GivenTolerance> given = ParseTolerance(*text);
  if (given && given->fraction.value_or(0) <= 1) {
    margin.given = *given;
  } else {
    table.Fail("margin", fmt::format("takes \"learned\", a part as \"5%\" or a size as \"2 GiB\", not \"{}\"", *text));
  }
}

// A number, or "{NAME}": a parameter whose every value is one.
void ReadItems(SpecTable& table, const Spec& spec, LimitsSpec& limits) {
  constexpr const char* kKey = "items_per_iteration";
  if (!table.toml().quoted.contains(kKey)) {
    limits.items_per_iteration = table.Number(kKey, 0).value_or(1);
    return;
  }
  const std::string text = table.Text(kKey).value_or("");
  const bool is_named = text.size() > 2 && text.front() == '{' && text.back() == '}';
  limits.items_parameter = is_named ? text.substr(1, text.size() - 2) : "";
  std::vector<std::string> values;
  if (const auto swept = spec.sweep.find(limits.items_parameter); swept != spec.sweep.end()) values = swept->second;
  if (const auto given = spec.parameters.find(limits.items_parameter); given != spec.parameters.end())
    values.push_back(given->second);
  const bool are_numbers = !values.empty() && std::all_of(values.begin(), values.end(), [](const std::string& value) {
    const std::optional<double> number = NumberIn(value);
    return number && *number >= 0;
  });
  if (!are_numbers) table.Fail(kKey, "takes a number, or the name of a parameter with numbers as \"{batch}\"");
}

Status ReadLimits(SpecTable table, const Spec& spec, LimitsSpec& limits, MarginSpec& margin) {
  const WorkloadSpec& workload = spec.workload;
  limits.device_peak_bytes = table.Bytes("device_peak");
  limits.framework_peak_bytes = table.Bytes("framework_peak");
  limits.host_peak_bytes = table.Bytes("host_peak");
  limits.run_time_s = table.Number("run_time_s", 0);
  limits.iteration_time_s = table.Number("iteration_time_s", 0);
  limits.throughput_per_s = table.Number("throughput_per_s", 0);
  ReadItems(table, spec, limits);
  limits.error_count = table.Count("errors", 0, kMostCount).value_or(0);
  limits.allocator_retry_count = table.Count("allocator_retries", 0, kMostCount);
  limits.growth_bytes = table.Bytes("growth_per_iteration");
  limits.host_growth_bytes = table.Bytes("host_growth_per_iteration");
  ReadMargin(table, margin);
  const bool has_two = !workload.entry.empty() && workload.iteration_count >= 2;
  for (const char* key : {"growth_per_iteration", "host_growth_per_iteration"}) {
    if (table.toml().values.contains(key) && !has_two)
      table.Fail(key, "needs workload.entry with iterations of at least 2");
  }
  return table.Finish();
}

Status ReadQuality(SpecTable table, QualitySpec& quality) {
  quality.command = table.Texts("command");
  quality.function = table.Text("function").value_or("");
  quality.minimum = table.Number("minimum", -1e300);
  quality.maximum = table.Number("maximum", -1e300);
  quality.output = table.Text("output").value_or("");
  quality.reference = table.Text("reference").value_or("");
  quality.tolerance = table.Number("tolerance", 0);
  const bool has_number = !quality.command.empty() || !quality.function.empty();
  if (!quality.command.empty() && !quality.function.empty())
    table.Fail("function", "and quality.command exclude each other");
  if (has_number != (quality.minimum || quality.maximum))
    table.Fail("minimum", "or quality.maximum goes with quality.command or quality.function");
  if (has_number && !quality.output.empty())
    table.Fail("output", "and a number of quality exclude each other: let the command compare the file too");
  if (quality.minimum && quality.maximum && *quality.minimum > *quality.maximum)
    table.Fail("minimum", "is above quality.maximum");
  if (quality.output.empty() != quality.reference.empty()) table.Fail("reference", "and quality.output go together");
  if (!quality.output.empty() && quality.output == quality.reference)
    table.Fail("reference", "is the file that the workload writes: it would be compared with itself");
  if (quality.tolerance && quality.output.empty()) table.Fail("tolerance", "goes with quality.output");
  if (!quality.function.empty() && quality.function.find(':') == std::string::npos)
    table.Fail("function", "names a function as \"module:function\"");
  return table.Finish();
}

void ReadMaximum(SpecTable& file, Spec& spec) {
  SpecTable table = file.Table("maximum");
  for (const auto& [name, value] : table.toml().values) {
    if (const std::optional<double> number = table.Number(name, 0)) spec.maximum[name] = *number;
    if (!spec.parameters.contains(name) && !spec.sweep.contains(name))
      table.Fail(name, fmt::format("is the maximum of a parameter; give parameters.{} too", name));
  }
  if (const Status status = table.Finish(); !status) {
    const std::string& text = status.error().message;
    file.Fail("maximum", "is wrong: " + text.substr(0, text.find_last_not_of('.') + 1));
  }
}

Status ReadSweep(SpecTable table, Spec& spec) {
  size_t count = 1;
  for (const auto& [name, values] : table.toml().lists) {
    spec.sweep[name] = table.Texts(name);
    if (values.empty()) table.Fail(name, "is empty");
    count *= std::max<size_t>(1, values.size());
    if (count > kMostCombinations) {
      return Fail(ErrorCode::kLimitExceeded,
                  fmt::format("The sweep has more than {} combinations.", kMostCombinations));
    }
  }
  return table.Finish();
}

// A text that names no parameter is wrong as an unknown key is: it would run with the braces.
Status CheckPlaceholders(const Spec& spec) {
  const auto check = [&spec](std::string_view key, std::string_view text) -> Status {
    const std::string unknown = UnknownPlaceholder(
        text, [&spec](const std::string& name) { return spec.parameters.contains(name) || spec.sweep.contains(name); });
    if (unknown.empty()) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} names {{{}}}, and there is no parameters.{}; the text itself is written {{{{{}}}}}.",
                            key, unknown, unknown, unknown));
  };
  const auto check_all = [&check](std::string_view key, const Command& texts) -> Status {
    for (const std::string& text : texts) MEMSTRATA_TRY(check(key, text));
    return {};
  };
  MEMSTRATA_TRY(check_all("workload.command", spec.workload.command));
  MEMSTRATA_TRY(check_all("workload.inputs", spec.workload.inputs));
  for (const Command& command : spec.workload.beside) MEMSTRATA_TRY(check_all("beside.command", command));
  for (const auto& [name, value] : spec.environment) MEMSTRATA_TRY(check("environment." + name, value));
  MEMSTRATA_TRY(check_all("quality.command", spec.quality.command));
  MEMSTRATA_TRY(check("quality.output", spec.quality.output));
  return check("quality.reference", spec.quality.reference);
}

Status CheckNames(const Spec& spec) {
  const auto check = [](std::string_view table, const std::string& name) -> Status {
    if (IsPlaceholderName(name)) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}.{} is no name: letters, digits, _ and -, and no digit first.", table, name));
  };
  for (const auto& [name, value] : spec.parameters) MEMSTRATA_TRY(check("parameters", name));
  for (const auto& [name, values] : spec.sweep) MEMSTRATA_TRY(check("sweep", name));
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("environment.\"{}\" is no name of a variable.", name));
  }
  return {};
}

}  // namespace

size_t Spec::CheckCount() const {
  const LimitsSpec& l = limits;
  return static_cast<size_t>(l.device_peak_bytes.has_value()) + l.framework_peak_bytes.has_value() +
         l.host_peak_bytes.has_value() + l.run_time_s.has_value() + l.iteration_time_s.has_value() +
         l.throughput_per_s.has_value() + l.allocator_retry_count.has_value() + l.growth_bytes.has_value() +
         l.host_growth_bytes.has_value() + margin.is_asked + quality.IsAsked();
}

Result<Spec> ParseSpec(std::string_view text) {
  MEMSTRATA_ASSIGN_OR_RETURN(const plan::TomlTable toml, plan::ParseToml(text));
  SpecTable file(toml, "");
  if (toml.table_lists.contains("workload"))
    return Fail(ErrorCode::kInvalidArgument, "There is one workload: it is written as [workload].");
  Spec spec;
  spec.hash = HashOf(text);
  spec.name = file.Text("name").value_or("");
  MEMSTRATA_TRY(ReadWorkload(file.Table("workload"), spec.workload));
  MEMSTRATA_TRY(ReadBeside(file, spec.workload));
  spec.environment = file.Values("environment");
  spec.parameters = file.Values("parameters");
  MEMSTRATA_TRY(ReadSweep(file.Table("sweep"), spec));
  ReadMaximum(file, spec);
  MEMSTRATA_TRY(ReadLimits(file.Table("limits"), spec, spec.limits, spec.margin));
  MEMSTRATA_TRY(ReadQuality(file.Table("quality"), spec.quality));
  MEMSTRATA_TRY(file.Finish());
  MEMSTRATA_TRY(CheckNames(spec));
  MEMSTRATA_TRY(CheckPlaceholders(spec));
  if (spec.CheckCount() == 0)
    return Fail(ErrorCode::kInvalidArgument, "There is nothing to prove: give a limit in [limits] or a [quality].");
  return spec;
}

double ItemsPerIteration(const Spec& spec) {
  const auto parameter = spec.parameters.find(spec.limits.items_parameter);
  if (parameter == spec.parameters.end()) return spec.limits.items_per_iteration;
  return NumberIn(parameter->second).value_or(0);
}

Spec WithParameters(const Spec& spec, const std::map<std::string, std::string>& parameters) {
  Spec changed = spec;
  for (const auto& [name, value] : parameters) changed.parameters[name] = value;
  return changed;
}

std::vector<std::map<std::string, std::string>> Combinations(const Spec& spec) {
  std::vector<std::map<std::string, std::string>> all = {{}};
  for (const auto& [name, values] : spec.sweep) {
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& known : all) {
      for (const std::string& value : values) {
        longer.push_back(known);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace memstrata::accept
