#include "analysis/growth/out_of_memory_end.h"

#include <algorithm>

#include "analysis/heap_analysis.h"

namespace memstrata {
namespace {

std::optional<OutOfMemoryEnd> FindRecorded(const HeapAnalysis& analysis) {
  const EventTable& events = analysis.store->events;
  for (uint32_t seq = analysis.heap->events.size(); seq-- > 0;) {
    const uint32_t row = analysis.heap->events.begin + seq;
    if (events.kind[row] != EventKind::kOutOfMemory || analysis.timeline.step_of_event[seq] == kNone) continue;
    return OutOfMemoryEnd{analysis.timeline.step_of_event[seq], events.size_bytes[row], true};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OutOfMemoryEnd> FindOutOfMemoryEnd(const HeapAnalysis& analysis, int64_t bytes_per_step) {
  if (const auto recorded = FindRecorded(analysis)) return recorded;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  if (analysis.capacity_bytes == kUnknownBytes || bytes_per_step <= 0 || steps.size() < 2) return std::nullopt;
  for (uint32_t step = 0; step < steps.size(); ++step) {  // it does not even get so far
    for (uint32_t seq = steps[step].begin_seq; seq < steps[step].end_seq; ++seq) {
      const bool fails = analysis.store->events.kind[analysis.heap->events.begin + seq] == EventKind::kAlloc &&
                         analysis.live.At(Moment::AfterEvent(seq)) > analysis.capacity_bytes;
      if (fails)
        return OutOfMemoryEnd{step, analysis.store->events.size_bytes[analysis.heap->events.begin + seq], false};
    }
  }
  const auto model = static_cast<uint32_t>(steps.size() - 2);  // the last one may be cut off
  const StepSpan& span = steps[model];
  const auto highest = static_cast<int64_t>(analysis.HighestIn(span.begin_seq, span.end_seq).bytes);
  const auto capacity = static_cast<int64_t>(analysis.capacity_bytes);
  const int64_t later = highest > capacity ? 0 : (capacity - highest) / bytes_per_step + 1;
  const int64_t added = later * bytes_per_step;
  for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
    const uint32_t row = analysis.heap->events.begin + seq;
    const bool fails = analysis.store->events.kind[row] == EventKind::kAlloc &&
                       static_cast<int64_t>(analysis.live.At(Moment::AfterEvent(seq))) + added > capacity;
    if (fails)
      return OutOfMemoryEnd{model + static_cast<uint32_t>(later), analysis.store->events.size_bytes[row], false};
  }
  return std::nullopt;
}

}  // namespace memstrata
