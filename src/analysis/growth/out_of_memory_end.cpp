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

// The recorded run does not even get to its end.
std::optional<OutOfMemoryEnd> FindWithinRun(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  for (uint32_t step = 0; step < steps.size(); ++step) {
    for (uint32_t seq = steps[step].begin_seq; seq < steps[step].end_seq; ++seq) {
      const uint32_t row = analysis.heap->events.begin + seq;
      const bool fails = analysis.store->events.kind[row] == EventKind::kAlloc &&
                         analysis.live.At(Moment::AfterEvent(seq)) > analysis.capacity_bytes;
      if (fails) return OutOfMemoryEnd{step, analysis.store->events.size_bytes[row]};
    }
  }
  return std::nullopt;
}

// The first step like `model`, one in `stride`, that does not fit any more where a step adds `bytes_per_step`.
std::optional<OutOfMemoryEnd> FindAfterRun(const HeapAnalysis& analysis, uint32_t model, uint32_t stride,
                                           int64_t bytes_per_step) {
  const StepSpan& span = analysis.timeline.steps[model];
  const auto highest = static_cast<int64_t>(analysis.HighestIn(span.begin_seq, span.end_seq).bytes);
  const auto capacity = static_cast<int64_t>(analysis.capacity_bytes);
  const int64_t bytes_per_stride = bytes_per_step * stride;
  const int64_t later = highest > capacity ? 0 : (capacity - highest) / bytes_per_stride + 1;
  constexpr int64_t kNever = 1'000'000'000;  // steps
  if (later > kNever / stride) return std::nullopt;
  for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
    const uint32_t row = analysis.heap->events.begin + seq;
    const auto live = static_cast<int64_t>(analysis.live.At(Moment::AfterEvent(seq)));
    if (analysis.store->events.kind[row] == EventKind::kAlloc && live + later * bytes_per_stride > capacity)
      return OutOfMemoryEnd{model + static_cast<uint32_t>(later) * stride, analysis.store->events.size_bytes[row]};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OutOfMemoryEnd> FindOutOfMemoryEnd(const HeapAnalysis& analysis, const Growth& growth) {
  if (const auto recorded = FindRecorded(analysis)) return recorded;
  const size_t step_count = analysis.timeline.steps.size();
  const int64_t bytes_per_step = growth.bytes_per_step.value_or(0);
  if (analysis.capacity_bytes == kUnknownBytes || bytes_per_step <= 0 || step_count < 2) return std::nullopt;
  if (const auto within = FindWithinRun(analysis)) return within;
  const uint32_t stride = std::max<uint32_t>(growth.period, 1);
  const auto last = static_cast<uint32_t>(step_count - 2);  // the very last one may be cut off
  std::optional<OutOfMemoryEnd> end;
  for (uint32_t back = 0; back < stride && back < last; ++back) {
    const auto like = FindAfterRun(analysis, last - back, stride, bytes_per_step);
    if (like && (!end || like->step < end->step)) end = like;
  }
  if (end) end->is_estimate = growth.period == 0 && !(growth.are_rises_alike && growth.EachStepRises());
  return end;
}

}  // namespace memstrata
