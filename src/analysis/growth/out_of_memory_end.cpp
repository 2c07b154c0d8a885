#include "analysis/growth/out_of_memory_end.h"

#include <algorithm>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/heap_analysis.h"

namespace memstrata {
namespace {

// The share of what the allocator holds that live memory has at the highest moment of a step; nothing for all of it.
// The rest is idle, by its rounding and in holes between live blocks, which come with every block that stays. Whole
// segments are given back before a request fails.
std::optional<double> LiveShare(const HeapAnalysis& analysis, const StepSpan& step) {
  if (!analysis.heap->capabilities.has_segments) return std::nullopt;
  const Peak highest = analysis.HighestIn(step.begin_seq, step.end_seq);
  const Fragmentation found = FindFragmentation(*analysis.store, *analysis.heap, highest.moment, 0);
  const uint64_t held_bytes = found.reserved_bytes - std::min(found.reserved_bytes, found.recoverable_bytes);
  if (held_bytes <= highest.bytes) return std::nullopt;
  return static_cast<double>(highest.bytes) / static_cast<double>(held_bytes);
}

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
std::optional<OutOfMemoryEnd> FindWithinRun(const HeapAnalysis& analysis, uint64_t usable_bytes) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  for (uint32_t step = 0; step < steps.size(); ++step) {
    for (uint32_t seq = steps[step].begin_seq; seq < steps[step].end_seq; ++seq) {
      const uint32_t row = analysis.heap->events.begin + seq;
      const bool fails = analysis.store->events.kind[row] == EventKind::kAlloc &&
                         analysis.live.At(Moment::AfterEvent(seq)) > usable_bytes;
      if (fails) return OutOfMemoryEnd{step, analysis.store->events.size_bytes[row]};
    }
  }
  return std::nullopt;
}

// The first step like `model`, one in `stride`, that does not fit any more where a step adds `bytes_per_step`.
std::optional<OutOfMemoryEnd> FindAfterRun(const HeapAnalysis& analysis, uint32_t model, uint32_t stride,
                                           int64_t bytes_per_step, uint64_t usable_bytes) {
  const StepSpan& span = analysis.timeline.steps[model];
  const auto highest = static_cast<int64_t>(analysis.HighestIn(span.begin_seq, span.end_seq).bytes);
  const auto capacity = static_cast<int64_t>(usable_bytes);
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

// The end where live memory can have that much of the device.
std::optional<OutOfMemoryEnd> FindEnd(const HeapAnalysis& analysis, const Growth& growth, uint64_t usable_bytes) {
  if (const auto within = FindWithinRun(analysis, usable_bytes)) return within;
  const auto last = static_cast<uint32_t>(analysis.timeline.steps.size() - 2);  // the very last one may be cut off
  const uint32_t stride = std::max<uint32_t>(growth.period, 1);
  std::optional<OutOfMemoryEnd> end;
  for (uint32_t back = 0; back < stride && back < last; ++back) {
    const auto like = FindAfterRun(analysis, last - back, stride, *growth.bytes_per_step, usable_bytes);
    if (like && (!end || like->step < end->step)) end = like;
  }
  if (end) end->is_estimate = growth.period == 0 && !(growth.are_rises_alike && growth.EachStepRises());
  return end;
}

}  // namespace

std::optional<OutOfMemoryEnd> FindOutOfMemoryEnd(const HeapAnalysis& analysis, const Growth& growth) {
  if (const auto recorded = FindRecorded(analysis)) return recorded;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const DeviceRoom& device = analysis.device;
  if (device.capacity_bytes == kUnknownBytes || growth.bytes_per_step.value_or(0) <= 0 || steps.size() < 2)
    return std::nullopt;
  const std::optional<double> live_share = LiveShare(analysis, steps[steps.size() - 2]);
  const auto live_within = [&](uint64_t bytes) {
    return live_share ? static_cast<uint64_t>(static_cast<double>(bytes) * *live_share) : bytes;
  };
  const uint64_t outside_bytes = device.outside_bytes == kUnknownBytes ? 0 : device.outside_bytes;
  const auto room_without = [&](uint64_t bytes) {
    return device.capacity_bytes - std::min(device.capacity_bytes, bytes);
  };
  const uint64_t room_bytes = room_without(device.is_outside_measured ? outside_bytes : 0);
  const uint64_t live_bytes = live_within(room_bytes);
  std::optional<OutOfMemoryEnd> end = FindEnd(analysis, growth, live_bytes);
  if (!end) return std::nullopt;
  end->idle_bytes = room_bytes - live_bytes;
  end->outside_bytes = outside_bytes;
  end->is_outside_measured = device.is_outside_measured;
  if (outside_bytes > 0 && !device.is_outside_measured) {
    const uint64_t likely_bytes = live_within(room_without(outside_bytes));
    if (const auto likely = FindEnd(analysis, growth, likely_bytes)) end->likely_step = likely->step;
  }
  return end;
}

}  // namespace memstrata
