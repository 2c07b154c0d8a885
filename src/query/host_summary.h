#pragma once
// A session of several hosts: which is worst, and how far they part.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/store/tables.h"

namespace memstrata {

struct HeapPeak {
  const Heap* heap = nullptr;
  uint64_t used_bytes = 0;
  std::optional<double> utilization;
};

struct HostSummary {
  std::string host;
  uint64_t heap_count = 0;
  std::string worst_heap;        // the device heap with the highest peak; a host heap where there is no other
  uint64_t peak_used_bytes = 0;  // of that heap
  std::optional<double> utilization;
};

/// By falling peak; empty unless there are two hosts or more.
std::vector<HostSummary> SummarizeHosts(const std::vector<HeapPeak>& peaks);

}  // namespace memstrata
