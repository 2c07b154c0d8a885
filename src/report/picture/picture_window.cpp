#include "report/picture/picture_window.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr uint32_t kMostSteps = 5;
constexpr uint32_t kShownSteps = 3;

bool IsShapeOfTheWholeRun(GrowthKind kind) { return kind != GrowthKind::kNoGrowth && kind != GrowthKind::kUnknown; }

}  // namespace

PictureWindow ChooseWindow(const HeapExplained& heap) {
  const uint32_t event_count = std::max<uint32_t>(1, heap.analysis.heap->events.size());
  const auto& steps = heap.analysis.timeline.steps;
  const auto step_count = static_cast<uint32_t>(steps.size());
  const PictureWindow whole = {0, event_count, 0, step_count, true};
  if (step_count <= kMostSteps || IsShapeOfTheWholeRun(heap.analysis.growth.kind)) return whole;
  const uint32_t peak_seq = heap.analysis.peak.moment.seq();
  uint32_t step = heap.marks.step != kNone ? heap.marks.step : step_count - 1;
  if (peak_seq != kNone && heap.analysis.timeline.step_of_event[peak_seq] != kNone)
    step = heap.analysis.timeline.step_of_event[peak_seq];
  const uint32_t first = std::min(step == 0 ? 0 : step - 1, step_count - kShownSteps);
  return {steps[first].begin_seq, steps[first + kShownSteps - 1].end_seq, first, kShownSteps, false};
}

}  // namespace memstrata
