#include "report/ci/gate_ci.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/ci/junit.h"
#include "report/markdown/markdown_text.h"
#include "report/text/gate_text.h"

namespace memstrata {
namespace {

using accept::BlamedRow;
using accept::FigureCheck;
using accept::GateAnswer;
using accept::HeapBlame;
using accept::Verdict;

const HeapBlame* BlameOf(const GateAnswer& answer, const std::string& heap) {
  for (const HeapBlame& blame : answer.blames) {
    if (blame.heap == heap) return &blame;
  }
  return nullptr;
}

std::string BlameLines(const HeapBlame* blame) {
  std::string lines;
  if (blame == nullptr) return lines;
  for (const BlamedRow& row : blame->rows)
    lines += fmt::format("+{} {} {}\n", FormatBytes(row.DeltaBytes()), row.category, BlamedPlace(row));
  return lines;
}

// Workflow commands end at a line break; properties end at a comma or colon besides.
std::string Escape(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool escapes = c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    out += escapes ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string Place(const HeapBlame* blame, const std::string& root) {
  if (blame == nullptr || blame->rows.empty() || blame->rows.front().stack.empty()) return "";
  const BlamedRow& row = blame->rows.front();
  const accept::BlamedFrame& frame = row.stack[row.useful_index];
  std::string_view file = frame.file;
  if (!root.empty() && file.starts_with(root + "/")) file.remove_prefix(root.size() + 1);
  return fmt::format("file={},line={},", Escape(file, true), frame.line);
}

}  // namespace

Status WriteGateJunit(const GateAnswer& answer, ByteSink& sink) {
  std::vector<JudgedTest> tests;
  for (const FigureCheck& check : answer.checks) {
    const HeapBlame* blame = check.verdict == Verdict::kFail ? BlameOf(answer, check.heap) : nullptr;
    tests.push_back({check.heap, check.figure, check.verdict, check.text, BlameLines(blame)});
  }
  return WriteJunit("memstrata gate", tests, sink);
}

std::string GateAnnotations(const GateAnswer& answer, const std::string& root) {
  std::string out;
  for (const FigureCheck& check : answer.checks) {
    if (check.verdict == Verdict::kPass) continue;
    const bool fails = check.verdict == Verdict::kFail;
    const HeapBlame* blame = fails ? BlameOf(answer, check.heap) : nullptr;
    out += fmt::format("::{} {}title=memstrata {} {}::{}\n", fails ? "error" : "warning", Place(blame, root),
                       Escape(check.heap, true), Escape(check.figure, true),
                       Escape(check.text + (blame != nullptr ? "\n" + BlameLines(blame) : ""), false));
  }
  return out;
}

std::string GateMarkdown(const GateAnswer& answer) {
  std::string out = fmt::format("### {}\n\n", GateSentence(answer.verdict));
  out += "| heap | figure | baseline | now | change | allowed | verdict |\n|---|---|---:|---:|---:|---:|---|\n";
  for (const FigureCheck& check : answer.checks) {
    const bool is_known = !check.values_bytes.empty();
    const std::string change =
        is_known ? fmt::format("{}{}", check.DeltaBytes() > 0 ? "+" : "", FormatBytes(check.DeltaBytes())) : "unknown";
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", EscapeMarkdown(check.heap), EscapeMarkdown(check.figure),
                    FormatBytes(check.baseline_bytes), is_known ? FormatBytes(check.mean_bytes) : "unknown", change,
                    FormatBytes(static_cast<uint64_t>(check.tolerance.allowed)), VerdictName(check.verdict));
  }
  for (const HeapBlame& blame : answer.blames) {
    out += fmt::format("\n**{}**\n\n", EscapeMarkdown(blame.heap));
    for (const std::string& sentence : blame.sentences) out += fmt::format("- {}\n", EscapeMarkdown(sentence));
    if (!blame.rows.empty()) out += "\n| grows by | category | where |\n|---:|---|---|\n";
    for (const BlamedRow& row : blame.rows) {
      out += fmt::format("| +{} | {} | {} |\n", FormatBytes(row.DeltaBytes()), EscapeMarkdown(row.category),
                         EscapeMarkdown(BlamedPlace(row)));
    }
  }
  if (!answer.notes.empty()) out += '\n';
  for (const std::string& note : answer.notes) out += fmt::format("- {}\n", EscapeMarkdown(note));
  return out;
}

}  // namespace memstrata
