#include "report/markdown/accept_markdown.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "report/markdown/markdown_text.h"
#include "report/text/accept_text.h"

namespace memstrata {
namespace {

std::string Bytes(const accept::Measured& measured) {
  if (!measured.value) return "unknown";
  return fmt::format("{}{}", measured.is_lower_bound ? "at least " : "",
                     FormatBytes(static_cast<uint64_t>(std::max(0.0, *measured.value))));
}

std::string Runs(const accept::Acceptance& acceptance) {
  std::string out =
      "\n## Runs\n\n| run | device | used | framework | host | time | errors |\n|---|---|---:|---:|---:|---:|---:|\n";
  for (size_t i = 0; i < acceptance.repeats.size(); ++i) {
    const accept::RepeatFigures& run = acceptance.repeats[i];
    const std::string time = run.run_time_s.value
                                 ? FormatDuration(static_cast<int64_t>(std::llround(*run.run_time_s.value * 1e9)))
                                 : "unknown";
    const auto line = [&](std::string_view device, const std::string& used, const std::string& framework) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", i + 1, EscapeMarkdown(device), used, framework,
                         Bytes(run.host_bytes), time, run.error_count);
    };
    for (const accept::DeviceFigures& device : run.devices)
      line(device.id, Bytes(device.used_bytes), Bytes(device.framework_bytes));
    if (run.devices.empty()) line("none", "unknown", "unknown");
  }
  return out;
}

std::string Identity(const accept::Acceptance& acceptance) {
  const accept::Identity& identity = acceptance.identity;
  std::string command;
  for (const std::string& word : identity.command) command += (command.empty() ? "" : " ") + word;
  std::string out = fmt::format("\n## What ran\n\n- command: {}\n", EscapeMarkdown(command));
  if (!identity.program_version.empty()) out += fmt::format("- memstrata: {}\n", identity.program_version);
  if (!identity.spec_hash.empty()) out += fmt::format("- specification: XXH128 {}\n", identity.spec_hash);
  for (const auto& [name, value] : identity.settings) out += fmt::format("- {}: {}\n", name, EscapeMarkdown(value));
  if (!identity.system.empty()) out += fmt::format("- system: {}\n", EscapeMarkdown(identity.system));
  for (const std::string& framework : identity.frameworks)
    out += fmt::format("- framework: {}\n", EscapeMarkdown(framework));
  for (const std::string& device : identity.devices) out += fmt::format("- device: {}\n", EscapeMarkdown(device));
  if (!acceptance.spec.parameters.empty())
    out += fmt::format("- parameters: {}\n", EscapeMarkdown(ParameterWords(acceptance.spec.parameters)));
  for (const auto* variables : {&acceptance.spec.environment, &identity.inherited}) {
    for (const auto& [name, value] : *variables)
      out += fmt::format("- {} variable: {}\n", variables == &identity.inherited ? "inherited" : "set",
                         EscapeMarkdown(fmt::format("{}={}", name, value)));
  }
  for (const accept::InputFile& input : identity.inputs) {
    out += fmt::format("- input: {}, {}\n", EscapeMarkdown(input.file),
                       input.size_bytes ? fmt::format("{} B, XXH128 {}", FormatCount(*input.size_bytes), input.hash)
                                        : "which cannot be read");
  }
  return out;
}

}  // namespace

std::string AcceptMarkdown(const accept::Acceptance& acceptance, const std::vector<accept::SweepRow>& rows) {
  std::string out = fmt::format("# {}\n\n{}\n\n| check | verdict | |\n|---|---|---|\n",
                                acceptance.spec.name.empty() ? "Acceptance" : EscapeMarkdown(acceptance.spec.name),
                                AcceptSentence(acceptance.verdict));
  for (const accept::Check& check : acceptance.checks) {
    out += fmt::format("| {} | {} | {} |\n", EscapeMarkdown(check.name), accept::VerdictName(check.verdict),
                       EscapeMarkdown(check.text));
  }
  out += "\n## Checklist\n\n";
  for (const accept::ChecklistItem& item : acceptance.checklist)
    out += fmt::format("- [{}] {}: {}\n", item.is_done ? "x" : " ", item.item, EscapeMarkdown(item.text));
  if (!rows.empty()) {
    out += "\n## Sweep\n\n|";
    for (const std::string_view column : kSweepColumns) out += fmt::format(" {} |", column);
    out += "\n|---|---:|---:|---:|---:|---|---|\n";
    for (const accept::SweepRow& row : rows) {
      out += '|';
      for (const std::string& cell : SweepCells(row)) out += fmt::format(" {} |", EscapeMarkdown(cell));
      out += '\n';
    }
  }
  return out + Runs(acceptance) + Identity(acceptance);
}

}  // namespace memstrata
