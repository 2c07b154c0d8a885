#include "report/text/accept_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace memstrata {
namespace {

using accept::Verdict;

constexpr double kNsPerS = 1e9;

std::string Word(const TextStyle& style, Verdict verdict) {
  const std::string word = PadRight(accept::VerdictName(verdict), 9);
  if (verdict == Verdict::kFail) return style.Error(word);
  return verdict == Verdict::kUndecided ? style.Warn(word) : style.Live(word);
}

std::string SweepTable(const std::vector<accept::SweepRow>& rows) {
  std::vector<std::vector<std::string>> cells = {{std::begin(kSweepColumns), std::end(kSweepColumns)}};
  for (const accept::SweepRow& row : rows) cells.push_back(SweepCells(row));
  std::vector<size_t> widths(std::size(kSweepColumns), 0);
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  std::string out;
  for (const auto& line : cells) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) text += "  " + PadRight(line[i], widths[i]);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string ParameterWords(const std::map<std::string, std::string>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::vector<std::string> SweepCells(const accept::SweepRow& row) {
  const std::string unknown = "unknown";
  return {ParameterWords(row.parameters),
          row.memory_bytes ? fmt::format("{}{} ({})", row.is_lower_bound ? "at least " : "",
                                         FormatBytes(static_cast<uint64_t>(*row.memory_bytes)), row.memory_basis)
                           : unknown,
          row.latency_s ? FormatDuration(static_cast<int64_t>(std::llround(*row.latency_s * kNsPerS))) : unknown,
          row.throughput_per_s ? fmt::format("{:.4g}", *row.throughput_per_s) : unknown,
          row.quality ? fmt::format("{:.6g}", *row.quality) : unknown,
          std::string(accept::VerdictName(row.verdict)),
          row.is_pareto ? "*" : ""};
}

std::string_view AcceptSentence(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "The workload is accepted.";
    case Verdict::kFail:
      return "The workload is not accepted.";
    case Verdict::kUndecided:
      return "Whether the workload fits is undecided.";
  }
  return "";
}

Status WriteAcceptText(const accept::Acceptance& acceptance, const std::vector<accept::SweepRow>& rows,
                       const TextStyle& style, ByteSink& sink) {
  const size_t width = static_cast<size_t>(std::clamp(style.width, 60, 140));
  std::string out = style.Bold(AcceptSentence(acceptance.verdict)) + "\n\n";
  for (const accept::Check& check : acceptance.checks) {
    out += fmt::format("{}  {}  {}\n", Word(style, check.verdict), PadRight(check.name, 17),
                       WrapLines(Shorten(check.text, 600), width - 30, 30));
  }
  out += "\nChecklist\n";
  for (const accept::ChecklistItem& item : acceptance.checklist) {
    const std::string text = fmt::format("{}: {}", item.item, Shorten(item.text, 400));
    out += fmt::format("  [{}] {}\n", item.is_done ? "x" : " ", WrapLines(text, width - 6, 6));
  }
  if (!rows.empty()) out += "\nSweep\n" + SweepTable(rows);
  return sink.Write(out);
}

}  // namespace memstrata
