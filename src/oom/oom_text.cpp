#include "oom/oom_text.h"

#include <algorithm>
#include <map>
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

}  // namespace

std::vector<OomReport> ExplainText(std::string_view text) {
  std::vector<OomReport> reports;
  for (const LogStream& stream : ReadLog(text)) {
    for (const FindMessages find : AllFamilies()) find(stream, reports);
  }
  AdviseEngines(text, reports);
  std::stable_sort(reports.begin(), reports.end(),
                   [](const OomReport& a, const OomReport& b) { return a.line < b.line; });
  reports = MergeEqual(std::move(reports));
  // What is no failure stands behind what is one.
  std::stable_partition(reports.begin(), reports.end(),
                        [](const OomReport& report) { return report.verdict != OomVerdict::kNotExhaustion; });
  return reports;
}

}  // namespace memstrata::oom
