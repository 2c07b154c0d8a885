#pragma once
// What a picture says about the marks of a heap, and where.

#include <string>
#include <vector>

#include "query/explain.h"

namespace memstrata {

/// A label before it has a place: it points at the live curve at an event.
struct MarkLabel {
  std::vector<uint32_t> seqs;  // where it belongs, and the same moments of steps that are like its own
  std::string title;           // what, and bytes
  std::string detail;          // why
  int rank = 0;                // the lowest is placed first
  bool is_alarm = false;       // a request that failed
};

/// Labels for events [begin_seq, end_seq): the peak, failed requests, the anatomy of the representative step, growth.
std::vector<MarkLabel> LabelsOf(const HeapExplained& heap, uint32_t begin_seq, uint32_t end_seq);

}  // namespace memstrata
