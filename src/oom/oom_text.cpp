#include "oom/oom_text.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

using Size = std::optional<uint64_t>;
using Figures = std::tuple<std::string_view, std::string_view, Size, Size, Size, Size, Size, std::string>;

Figures FiguresOf(const OomReport& report) {
  return {report.kind,           report.format,     report.requested_bytes, report.free_bytes,
          report.capacity_bytes, report.live_bytes, report.idle_bytes,      report.text};
}

// Ranks and loggers repeat a message: the first stays, with the names of all that printed it.
std::vector<OomReport> MergeEqual(std::vector<OomReport> reports) {
  constexpr size_t kMostNameBytes = 200;
  std::vector<OomReport> merged;
  std::map<Figures, size_t> index;
  for (OomReport& report : reports) {
    const auto [found, is_new] = index.emplace(FiguresOf(report), merged.size());
    if (is_new) {
      merged.push_back(std::move(report));
      continue;
    }
    OomReport& same = merged[found->second];
    same.count += report.count;
    if (report.where.empty() || same.where.find(report.where) != std::string::npos) continue;
    if (same.where.size() < kMostNameBytes) same.where += (same.where.empty() ? "" : " ") + report.where;
  }
  return merged;
}

bool HasAny(std::string_view line, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

// A failure that a program caught is no end of it: the logger's line says so, or the log goes on with steps.
void TellWhatWasCaught(std::string_view text, std::vector<OomReport>& reports) {
  constexpr std::string_view kCaught[] = {"caught", "Caught", "retry", "Retry", "retried", "skipping", "Skipping"};
  constexpr std::string_view kProgress[] = {"loss", "step ", "Step ", "epoch", "Epoch", "it/s"};
  constexpr size_t kLookedAt = 40;  // lines behind the message
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (OomReport& report : reports) {
    if (report.kind != "torch" || report.line == 0 || report.line > lines.size()) continue;
    const std::string_view own = lines[report.line - 1];
    const auto after = std::span(lines).subspan(report.line);
    const auto behind = after.subspan(0, std::min(after.size(), kLookedAt));
    if (HasAny(own.substr(0, own.find("out of memory")), kCaught)) {
      report.text += " Its line says that the program caught it.";
    } else if (std::any_of(behind.begin(), behind.end(), [&](std::string_view line) {
                 const bool is_code = line.find("    ") != std::string_view::npos;  // of a traceback
                 return !is_code && HasAny(line, kProgress);
               })) {
      report.text += " The log goes on with steps after it: the program may have caught it.";
    }
  }
}

}  // namespace

std::vector<OomReport> ExplainText(std::string_view text) {
  std::vector<OomReport> reports;
  for (const LogStream& stream : ReadLog(text)) {
    for (const FindMessages find : AllFamilies()) find(stream, reports);
  }
  AdviseEngines(text, reports);
  TellWhatWasCaught(text, reports);
  std::stable_sort(reports.begin(), reports.end(),
                   [](const OomReport& a, const OomReport& b) { return a.line < b.line; });
  reports = MergeEqual(std::move(reports));
  // What is no failure stands behind what is one.
  std::stable_partition(reports.begin(), reports.end(),
                        [](const OomReport& report) { return report.verdict != OomVerdict::kNotExhaustion; });
  return reports;
}

}  // namespace memstrata::oom
