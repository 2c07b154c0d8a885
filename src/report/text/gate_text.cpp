#include "report/text/gate_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

using accept::BlamedRow;
using accept::Verdict;

std::string Word(const TextStyle& style, Verdict verdict) {
  const std::string word = PadRight(accept::VerdictName(verdict), 9);
  if (verdict == Verdict::kFail) return style.Error(word);
  return verdict == Verdict::kUndecided ? style.Warn(word) : style.Live(word);
}

}  // namespace

std::string BlamedPlace(const BlamedRow& row) {
  if (row.stack.empty()) return "blocks without a stack";
  const accept::BlamedFrame& frame = row.stack[row.useful_index];
  const std::string line = frame.line > 0 ? fmt::format(":{}", frame.line) : "";
  return fmt::format("{} ({}{})", ShortFunctionName(frame.function), ShortPath(frame.file), line);
}

std::string_view GateSentence(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "Memory is within the baseline.";
    case Verdict::kFail:
      return "Memory is above the baseline.";
    case Verdict::kUndecided:
      return "Whether memory is within the baseline is undecided.";
  }
  return "";
}

Status WriteGateText(const accept::GateAnswer& answer, const TextStyle& style, ByteSink& sink) {
  const size_t width = static_cast<size_t>(std::clamp(style.width, 60, 140));
  std::string out = style.Bold(GateSentence(answer.verdict)) + "\n\n";
  for (const accept::FigureCheck& check : answer.checks)
    out += fmt::format("{}  {}\n", Word(style, check.verdict), WrapLines(check.text, width - 11, 11));
  for (const accept::HeapBlame& blame : answer.blames) {
    out += fmt::format("\n{}\n", style.Bold(Shorten(blame.heap, 40)));
    for (const std::string& sentence : blame.sentences) out += "  " + WrapLines(sentence, width - 2, 2) + "\n";
    for (const BlamedRow& row : blame.rows) {
      out += fmt::format("  {}  {}  {}\n", PadLeft("+" + FormatBytes(row.DeltaBytes()), 10), PadRight(row.category, 15),
                         Shorten(BlamedPlace(row), 80));
    }
  }
  if (!answer.notes.empty()) out += "\n";
  for (const std::string& note : answer.notes) out += WrapLines(note, width, 0) + "\n";
  return sink.Write(out);
}

}  // namespace memstrata
