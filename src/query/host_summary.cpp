#include "query/host_summary.h"

#include <algorithm>
#include <map>

namespace memstrata {

std::vector<HostSummary> SummarizeHosts(const std::vector<HeapPeak>& peaks) {
  struct Row {
    HostSummary summary;
    bool is_device = false;
  };
  std::map<std::string, Row> by_host;
  for (const HeapPeak& peak : peaks) {
    if (peak.heap->host.empty()) continue;
    Row& row = by_host[peak.heap->host];
    ++row.summary.heap_count;
    const bool is_device = peak.heap->kind == HeapKind::kDevice;
    const bool is_worse = row.summary.worst_heap.empty() || (is_device && !row.is_device) ||
                          (is_device == row.is_device && peak.used_bytes > row.summary.peak_used_bytes);
    if (!is_worse) continue;
    row.is_device = is_device;
    row.summary.host = peak.heap->host;
    row.summary.worst_heap = peak.heap->id;
    row.summary.peak_used_bytes = peak.used_bytes;
    row.summary.utilization = peak.utilization;
  }
  std::vector<HostSummary> hosts;
  if (by_host.size() < 2) return hosts;
  for (auto& [host, row] : by_host) hosts.push_back(std::move(row.summary));
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const HostSummary& a, const HostSummary& b) { return a.peak_used_bytes > b.peak_used_bytes; });
  return hosts;
}

}  // namespace memstrata
