#include "analysis/category/loaded_copy_pass.h"

#include <fmt/format.h>

#include "analysis/category/loaded_checkpoint.h"
#include "analysis/frames/useful_frame.h"
#include "analysis/next_peak/next_peak.h"
#include "base/units.h"

namespace memstrata {

std::vector<Finding> ReportLoadedCopy(const HeapAnalysis& analysis) {
  // Sizes and order alone also fit a teacher or an average of the weights.
  if (analysis.timeline.basis != PhaseBasis::kStack) return {};
  const std::vector<uint32_t> rows =
      FindLoadedCheckpoint(*analysis.store, *analysis.heap, analysis.timeline, analysis.categories).weight_rows;
  if (rows.empty()) return {};
  const AllocationTable& table = analysis.store->allocations;
  uint64_t bytes = 0;
  for (const uint32_t row : rows) bytes += table.size_bytes[row];
  const NextPeak next = FindPeakWithout(analysis, rows);
  Finding finding;
  finding.id = kLoadedCopyPass.id;
  finding.severity = FindingSeverity::kWarning;
  finding.text = fmt::format("A second copy of the weights, {}, loaded at {}, stays until the last step.",
                             FormatBytes(bytes), UsefulFrameName(*analysis.store, table.stack[rows[0]]));
  finding.bytes = bytes;
  finding.confidence = Confidence::kAssumed;
  finding.remedy = fmt::format(
      "If only load_state_dict reads it, delete the checkpoint after that, or load it with map_location=\"cpu\": the "
      "peak is then {} ({} less), {}.",
      FormatBytes(next.peak.bytes), FormatBytes(next.gain_bytes), PlaceOf(analysis, next.peak.moment));
  finding.evidence.begin_seq = table.alloc_seq[rows.front()];
  finding.evidence.end_seq = table.alloc_seq[rows.back()] + 1;
  finding.evidence.stack = table.stack[rows[0]];
  return {finding};
}

}  // namespace memstrata
