#include "accept/spec_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_writer.h"
#include "plan/toml_table.h"

namespace memstrata::accept {
namespace {

std::string List(const Command& words) {
  std::string out = "[";
  for (const std::string& word : words) out += (out.size() > 1 ? ", " : "") + plan::QuoteToml(EscapePlaceholders(word));
  return out + "]";
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : ReplaceInvalidUtf8(text)) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

// Rounded up to whole MiB. What is not known stands there as a comment.
std::string Limit(std::string_view key, std::optional<uint64_t> size_bytes, std::string_view comment) {
  if (!size_bytes) return fmt::format("# {} = \"80 GiB\"  # {}\n", key, comment);
  constexpr uint64_t kMib = uint64_t{1} << 20;
  return fmt::format("{} = \"{} MiB\"  # {}\n", key, (*size_bytes + kMib - 1) / kMib, comment);
}

}  // namespace

std::string SpecToml(const SpecDraft& draft) {
  std::string out = "# An acceptance test of a workload: `memstrata accept THIS_FILE` runs it and judges.\n";
  out += "# Every key is described in docs/reference/accept.md; unknown keys are errors.\n";
  if (!draft.source.empty()) out += fmt::format("# {}\n", OneLine(draft.source));
  for (const std::string& remark : draft.remarks) out += fmt::format("# {}\n", OneLine(remark));
  out += fmt::format("name = {}\n\n[workload]\n", plan::QuoteToml(draft.name.empty() ? "workload" : draft.name));
  out += "# What will be run in use, at its largest. Or a Python function: entry = \"module:function\"\n";
  out += draft.entry.empty() ? fmt::format("command = {}\n",
                                           List(draft.command.empty() ? Command{"python", "train.py"} : draft.command))
                             : fmt::format("entry = {}\npython = {}\niterations = {}\n", plan::QuoteToml(draft.entry),
                                           plan::QuoteToml(draft.python), draft.iteration_count);
  out += "repeats = 3        # in fresh processes; the margin is learned from their spread\n";
  out += fmt::format("warmup = {}         # runs before the measured one (of an entry: calls)\n", draft.warmup_count);
  out += "timeout_s = 3600\n# inputs = [\"prompts.json\"]  # hashed and recorded\n";
  out += "# copies = 2       # so many at once\n\n[environment]\n# Set for the workload; the rest is inherited.\n";
  for (const auto& [name, value] : draft.environment)
    out += fmt::format("{} = {}\n", plan::QuoteToml(name), plan::QuoteToml(EscapePlaceholders(value)));
  out += "\n[parameters]\n# {NAME} in commands; arguments of functions\n";
  for (const auto& [name, value] : draft.parameters)
    out += fmt::format("{} = {}\n", plan::QuoteToml(name), plan::QuoteToml(value));
  out += "\n[maximum]\n# The largest value in use, of parameters: a run below it is undecided.\n";
  for (const auto& [name, value] : draft.maximum) out += fmt::format("{} = {}\n", plan::QuoteToml(name), value);
  out += "\n[limits]\nerrors = 0\n";
  out += Limit("device_peak", draft.device_peak_bytes, "of each device, by all that use it");
  out += Limit("framework_peak", draft.framework_peak_bytes, "reserved by the framework's allocator");
  out += Limit("host_peak", draft.host_peak_bytes, "resident memory of the run");
  out += draft.run_time_s ? fmt::format("run_time_s = {:g}  # from the start of the command to its end\n",
                                        std::ceil(*draft.run_time_s * 10) / 10)
                          : "# run_time_s = 600\n";
  // Without a device the margin could only be undecided.
  out +=
      fmt::format("{}margin = \"learned\"  # what must stay free: learned, or \"2 GiB\", or \"5%\" of the capacity\n",
                  draft.device_peak_bytes ? "" : "# ");
  out += Limit("capacity", draft.device_peak_bytes ? draft.capacity_bytes : std::nullopt,
               "of the card; without it what the device says");
  out += "# allocator_retries = 0\n# iteration_time_s = 1.5\n\n";
  out += "# [quality]\n# command = [\"python\", \"evaluate.py\"]  # its last line is a number\n# minimum = 0.7\n";
  return out;
}

}  // namespace memstrata::accept
