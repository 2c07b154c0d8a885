#include "report/text/run_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "measure/gaps.h"

namespace memstrata {
namespace {

constexpr size_t kLabelWidth = 30;
constexpr size_t kIndent = 4;

std::string PeakText(const measure::MeasuredPeak& peak) {
  return fmt::format("{}{}", peak.is_lower_bound ? "at least " : "", FormatBytes(peak.bytes));
}

std::string Line(std::string_view label, std::string_view text) {
  return fmt::format("  {} {}\n", PadRight(label, kLabelWidth), text);
}

std::string EndText(const measure::CommandRun& run, const TextStyle& style) {
  if (!run.ended) return style.Error("It did not end.");
  if (run.timed_out) return style.Error("It was ended at the timeout.");
  const std::string text = fmt::format("It ended with status {}.", run.exit_status);
  return run.exit_status == 0 ? text : style.Error(text);
}

std::string DeviceName(const measure::MeasuredSession& session, uint32_t device) {
  const measure::DeviceFacts& facts = session.devices[device];
  return fmt::format("{} {}", facts.name.empty() ? facts.vendor : facts.name, device);
}

}  // namespace

std::string RunText(const measure::MeasuredSession& session, const measure::RunPeaks& peaks, const TextStyle& style) {
  std::string out;
  for (const measure::CommandRun& run : session.commands)
    out += fmt::format("{}  {}\n", EndText(run, style), style.Dim(FormatDuration(run.wall_ns)));
  out += Line("Host memory, peak", peaks.host ? PeakText(*peaks.host) : "not known: it ended before a sample met it");
  for (const measure::DevicePeak& peak : peaks.devices) {
    std::string text = PeakText(peak.used);
    if (const auto total = session.devices[peak.device].total_bytes) text += " of " + FormatBytes(*total);
    if (peak.used_by_others.value_or(false)) text += style.Warn(", others used it too");
    out += Line(fmt::format("{}, peak", DeviceName(session, peak.device)), text);
  }
  for (const measure::AllocatorPeak& peak : peaks.allocators) {
    out += Line(fmt::format("{}, device {}, framework", peak.process, peak.device),
                fmt::format("{} allocated, {} reserved", PeakText(peak.allocated), PeakText(peak.reserved)));
  }
  const std::vector<measure::Gap> gaps = measure::FindGaps(session);
  if (!gaps.empty()) out += fmt::format("\n  {}\n", style.Bold("Not known"));
  for (const measure::Gap& gap : gaps)
    out += "  " +
           WrapLines(fmt::format("{}: {} {}", gap.what, gap.why, gap.how_to_get),
                     static_cast<size_t>(style.width) - kIndent, kIndent) +
           "\n";
  out += fmt::format("\n  {}\n", style.Dim(fmt::format("memstrata ledger {}", session.folder)));
  return out;
}

}  // namespace memstrata
