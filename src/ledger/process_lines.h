#pragma once
// What one recorded process holds on a device, or of its host tensors: from its recording where that reaches the
// moment, else from its allocator's counters.

#include "ledger/ledger.h"

namespace memstrata::ledger {

struct ProcessLines {
  std::vector<Line> lines;
  std::optional<uint64_t> reserved_bytes;  // Σ lines; nothing: the process holds nothing there, or is not known to
  bool is_approximate = false;
};

/// `is_there`: the process is known to live, also where its recording has ended; its pools are then as they were last.
ProcessLines LinesOnDevice(const measure::FrameworkProcess& process, uint32_t framework_device, SessionIndex* recording,
                           int64_t time_ns, bool is_there);

/// Tensors in host memory: those of the CPU, and pinned ones. Part of the resident memory.
ProcessLines LinesOnHost(const measure::FrameworkProcess& process, SessionIndex* recording, int64_t time_ns);

}  // namespace memstrata::ledger
