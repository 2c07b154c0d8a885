#include "report/text/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

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
  constexpr int32_t kSignalBase = 128;
  std::string text = fmt::format("It ended with status {}.", run.exit_status);
  if (run.exit_status > kSignalBase && run.exit_status < kSignalBase + NSIG)
    text = fmt::format("It was ended by signal {} ({}).", run.exit_status - kSignalBase,
                       strsignal(run.exit_status - kSignalBase));
  return run.exit_status == 0 ? text : style.Error(text);
}

std::string DeviceName(const measure::MeasuredSession& session, uint32_t device) {
  const measure::DeviceFacts& facts = session.devices[device];
  return fmt::format("{} {}", facts.name.empty() ? facts.vendor : facts.name, device);
}

// Only what there is: most programs pin and swap nothing.
std::string HostDetailText(const measure::MeasuredSession& session, const measure::HostDetail& detail) {
  std::string out;
  const auto add = [&out](std::string_view label, uint64_t bytes) {
    if (bytes > 0) out += Line(label, "at least " + FormatBytes(bytes));
  };
  add("  swapped out beside it", detail.swapped_bytes);
  add("  locked, of it", detail.locked_bytes);
  add("  pinned, of it", detail.pinned_bytes);
  if (session.group_limit_bytes && detail.group_bytes)
    out += Line("Control group, peak",
                fmt::format("at least {} of {}, its file cache included", FormatBytes(*detail.group_bytes),
                            FormatBytes(*session.group_limit_bytes)));
  return out;
}

}  // namespace

std::string RunText(const measure::MeasuredSession& session, const measure::RunPeaks& peaks, const TextStyle& style) {
  std::string out;
  for (const measure::CommandRun& run : session.commands)
    out += fmt::format("{}  {}\n", EndText(run, style), style.Dim(FormatDuration(run.wall_ns)));
  out += Line("Host memory, peak", peaks.host ? PeakText(*peaks.host) : "not known: it ended before a sample met it");
  out += HostDetailText(session, peaks.host_detail);
  for (const measure::DevicePeak& peak : peaks.devices) {
    const bool has_framework =
        std::any_of(peaks.allocators.begin(), peaks.allocators.end(),
                    [&](const measure::AllocatorPeak& one) { return one.device_index == peak.device; });
    std::string text = PeakText(peak.used);
    if (!has_framework && peak.own && peak.own->bytes == 0) text = "not used by the run; by all " + text;
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
