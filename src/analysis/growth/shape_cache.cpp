#include "analysis/growth/shape_cache.h"

#include <algorithm>
#include <vector>

#include "analysis/heap_analysis.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

bool IsOfForward(Phase phase) { return IsForward(phase) || phase == Phase::kEval; }

std::vector<uint64_t> LargestOfForward(const HeapAnalysis& analysis) {
  const AllocationTable& table = analysis.store->allocations;
  std::vector<uint64_t> largest(analysis.timeline.steps.size(), 0);
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t seq = table.alloc_seq[row];
    const uint32_t step = seq == kNone ? kNone : analysis.timeline.step_of_event[seq];
    if (step == kNone || !IsOfForward(analysis.timeline.phase_of_event[seq])) continue;
    largest[step] = std::max(largest[step], table.size_bytes[row]);
  }
  return largest;
}

}  // namespace

bool GrowsWithNewShapes(const HeapAnalysis& analysis, std::span<const uint32_t> rising_steps) {
  constexpr size_t kFewestAgain = 2;
  const std::vector<uint64_t> shapes = LargestOfForward(analysis);
  FlatMap<uint64_t, bool> seen;
  size_t again_count = 0;
  for (uint32_t step = 0; step + 1 < shapes.size(); ++step) {  // the last step's change is not known
    const bool is_new = !seen.contains(shapes[step]);
    const bool rises = std::binary_search(rising_steps.begin(), rising_steps.end(), step);
    if (step > 0 && is_new != rises) return false;
    again_count += is_new ? 0 : 1;
    seen[shapes[step]] = true;
  }
  return again_count >= kFewestAgain;
}

}  // namespace memstrata
