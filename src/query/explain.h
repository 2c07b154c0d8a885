#pragma once
// The answer to "what is this shape, what made the peak, does it grow": the data of `memstrata explain`. The fields are
// those of docs/reference/json/explain.schema.json; writers only format them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/bands/bands.h"
#include "analysis/fragmentation/explain_fragmentation.h"
#include "analysis/kept_analyses.h"
#include "analysis/layers/layers.h"
#include "analysis/marks/marks.h"
#include "analysis/next_peak/next_peak.h"
#include "analysis/pass.h"
#include "base/result.h"

namespace memstrata {

struct ExplainOptions {
  std::string heap;   // id; empty = all
  DeviceRoom device;  // where the recording does not know it
};

struct StepExplained {
  StepSpan span;
  uint64_t peak_live_bytes = 0;
  uint64_t end_live_bytes = 0;
};

struct PhaseExplained {
  PhaseSpan span;
  uint64_t peak_live_bytes = 0;
  int64_t delta_bytes = 0;
  double confidence = 0;  // 0 to 1, from the evidence in this recording
};

struct HeapExplained {
  explicit HeapExplained(const HeapAnalysis& of_heap) : analysis(of_heap) {}

  const HeapAnalysis& analysis;
  std::vector<StepExplained> steps;
  std::vector<PhaseExplained> phases;
  std::vector<Band> bands;
  Marks marks;
  std::vector<NextPeak> next_peaks;
  std::optional<FragmentationAnswer> fragmentation;
  std::vector<RepeatedLayer> layers;
  std::vector<Finding> findings;
};

struct ExplainAnswer {
  const Store* store = nullptr;
  std::shared_ptr<KeptAnalyses> own_analyses;  // that `heaps` refer to, where nobody else keeps them
  std::vector<HeapExplained> heaps;
};

/// errors: kInvalidArgument (no such heap; the message lists them)
/// cost: O(events + allocations log allocations) per heap
Result<ExplainAnswer> Explain(const Store& store, const ExplainOptions& options);
/// From analyses that other answers use too, and which must outlive the answer; of all heaps, or of the one named.
Result<ExplainAnswer> Explain(KeptAnalyses& analyses, const std::string& heap = "");

}  // namespace memstrata
