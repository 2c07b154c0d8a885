#include "report/text/ledger_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

using ledger::Balance;
using ledger::Line;
using ledger::Term;

constexpr size_t kLabelWidth = 44;
constexpr size_t kBytesWidth = 10;
constexpr size_t kIndent = 4;

std::string_view TermWords(const Line& line) {
  switch (line.term) {
    case Term::kTensors:
      return {};  // its category says it
    case Term::kRounding:
      return "rounding to blocks";
    case Term::kIdle:
      return "idle in the pools";
    case Term::kPrivatePools:
      return "idle in private and graph pools";
    case Term::kProcessOutside:
      return "context, libraries, collectives";
    case Term::kUnrecordedProcesses:
      return "processes of the run that recorded nothing";
    case Term::kOtherProcesses:
      return "other processes";
    case Term::kDriverReserve:
      return "kept by driver and firmware";
    case Term::kResident:
      return "the run, beside tensors";
    case Term::kKernel:
      return "the kernel";
  }
  return {};
}

std::string LabelOf(const Line& line) {
  const std::string_view words = TermWords(line);
  std::string label(words.empty() ? std::string_view(line.category) : words);
  if (words.empty() && line.category == "unknown") label = "tensors of unknown category";
  return line.process.empty() ? label : fmt::format("{}: {}", line.process, label);
}

std::string BytesOf(const std::optional<int64_t>& bytes) { return bytes ? FormatBytes(*bytes) : "unknown"; }

std::string WhenText(const measure::MeasuredSession& session, const Balance& balance) {
  if (session.host_samples.empty()) return "";
  return fmt::format("{} after the start",
                     FormatDuration(std::max<int64_t>(balance.time_ns - session.host_samples.front().time_ns, 0)));
}

std::string HeadingOf(const measure::MeasuredSession& session, uint32_t device) {
  const measure::DeviceFacts& facts = session.devices[device];
  return fmt::format("{} (device {})", facts.name.empty() ? facts.vendor : facts.name, device);
}

// One sentence for each thing that there is: no part of the sum.
std::vector<std::string> DetailWords(const measure::MeasuredSession& session, const measure::HostDetail& detail) {
  std::vector<std::string> words;
  const auto add = [&words](uint64_t bytes, std::string_view what) {
    if (bytes > 0) words.push_back(fmt::format("{} {}.", FormatBytes(bytes), what));
  };
  add(detail.swapped_bytes, "of the run are swapped out, beside what is used");
  add(detail.locked_bytes, "of what the run holds are locked");
  add(detail.pinned_bytes, "of what the run holds are pinned, by the kernel's count");
  if (detail.group_bytes && session.group_limit_bytes)
    words.push_back(fmt::format("The control group of the run holds {} of {}, its file cache included.",
                                FormatBytes(*detail.group_bytes), FormatBytes(*session.group_limit_bytes)));
  return words;
}

class LedgerScreen {
 public:
  LedgerScreen(const measure::MeasuredSession& session, const TextStyle& style) : session_(session), style_(style) {}

  void Add(const std::string& heading, const Balance& balance, const std::vector<std::string>& details = {}) {
    out_ += fmt::format("{}  {}\n", style_.Bold(heading), style_.Dim(WhenText(session_, balance)));
    for (const Line& line : balance.lines) {
      Row(LabelOf(line), BytesOf(line.bytes));
      if (!line.bytes) out_ += Note(line.note);
    }
    Row("unexplained", FormatBytes(balance.unexplained_bytes));
    Row("used", FormatBytes(balance.used_bytes));
    if (balance.is_approximate)
      out_ += Note("Block sizes of a past moment follow from the allocator's rounding rules; the sum is exact.");
    for (const std::string& words : details) out_ += Note(words);
    out_ += "\n";
  }

  void AddGaps(const std::vector<measure::Gap>& gaps) {
    if (!gaps.empty()) out_ += style_.Bold("Not known") + "\n";
    for (const measure::Gap& gap : gaps) out_ += Note(fmt::format("{}: {} {}", gap.what, gap.why, gap.how_to_get));
  }
  std::string Take() { return std::move(out_); }

 private:
  void Row(std::string_view label, std::string_view bytes) {
    out_ += fmt::format("  {} {}\n", PadRight(Shorten(label, kLabelWidth), kLabelWidth), PadLeft(bytes, kBytesWidth));
  }
  std::string Note(std::string_view text) const {
    return fmt::format("    {}\n", style_.Dim(WrapLines(text, static_cast<size_t>(style_.width) - kIndent, kIndent)));
  }

  const measure::MeasuredSession& session_;
  const TextStyle& style_;
  std::string out_;
};

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte == '|' || byte == '\\' || byte == '`' || byte == '*' || byte == '<') out += '\\';
    out += byte;
  }
  return out;
}

std::string MarkdownTable(const std::string& heading, const Balance& balance) {
  std::string out = fmt::format("## {}\n\n| where | bytes | |\n|---|---:|---:|\n", Escaped(heading));
  const auto row = [&out](const std::string& label, const std::optional<int64_t>& bytes) {
    out +=
        fmt::format("| {} | {} | {} |\n", Escaped(label), bytes ? std::to_string(*bytes) : "unknown", BytesOf(bytes));
  };
  for (const Line& line : balance.lines) row(LabelOf(line), line.bytes);
  row("unexplained", balance.unexplained_bytes);
  row("used", static_cast<int64_t>(balance.used_bytes));
  return out + "\n";
}

}  // namespace

std::string LedgerText(const measure::MeasuredSession& session, const ledger::Ledger& answer, const TextStyle& style) {
  LedgerScreen screen(session, style);
  for (const ledger::DeviceLedger& device : answer.devices)
    screen.Add(HeadingOf(session, device.device), device.balance);
  if (answer.host) screen.Add("Host", *answer.host, DetailWords(session, answer.host_detail));
  screen.AddGaps(answer.gaps);
  return screen.Take();
}

std::string LedgerMarkdown(const measure::MeasuredSession& session, const ledger::Ledger& answer) {
  std::string out = fmt::format("# Memory at {}\n\n", Escaped(answer.at));
  for (const ledger::DeviceLedger& device : answer.devices)
    out += MarkdownTable(HeadingOf(session, device.device), device.balance);
  if (answer.host) {
    out += MarkdownTable("Host", *answer.host);
    for (const std::string& words : DetailWords(session, answer.host_detail)) out += fmt::format("- {}\n", words);
    out += "\n";
  }
  if (!answer.gaps.empty()) out += "## Not known\n\n";
  for (const measure::Gap& gap : answer.gaps)
    out += fmt::format("- **{}**: {} {}\n", Escaped(gap.what), Escaped(gap.why), Escaped(gap.how_to_get));
  return out;
}

}  // namespace memstrata
