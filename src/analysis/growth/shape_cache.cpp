#include "analysis/growth/shape_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/heap_analysis.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// A size tells a shape where its blocks come and go within a step's forward: what is kept would itself be new.
bool TellsShape(const HeapAnalysis& analysis, uint32_t row) {
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t made = table.alloc_seq[row];
  const uint32_t freed = table.free_requested_seq[row];
  if (made == kNone || freed == kNone) return false;
  const Timeline& timeline = analysis.timeline;
  if (timeline.step_of_event[made] == kNone || timeline.step_of_event[made] != timeline.step_of_event[freed])
    return false;
  return IsForwardOrEval(timeline.phase_of_event[made]);
}

/// Of each step, whether its forward makes a size that no step before made, and the first steps of the sizes it makes.
struct ShapesOfSteps {
  std::vector<bool> is_new;
  std::vector<std::pair<uint32_t, uint32_t>> again;  // (a step, the first one that made one of its sizes), where unlike
};

// Rows come in the order of their events.
ShapesOfSteps FindShapes(const HeapAnalysis& analysis) {
  ShapesOfSteps shapes;
  shapes.is_new.assign(analysis.timeline.steps.size(), false);
  FlatMap<uint64_t, uint32_t> first_step;  // by size
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (!TellsShape(analysis, row)) continue;
    const uint32_t step = analysis.timeline.step_of_event[analysis.store->allocations.alloc_seq[row]];
    const auto [first, inserted] = first_step.try_emplace(analysis.store->allocations.size_bytes[row], step);
    if (inserted) shapes.is_new[step] = true;
    if (first->second != step) shapes.again.emplace_back(step, first->second);
  }
  return shapes;
}

}  // namespace

bool GrowsWithNewShapes(const HeapAnalysis& analysis, std::span<const uint32_t> rising_steps) {
  constexpr ptrdiff_t kMostNewWithoutRise = 4;  // one of so many new shapes may leave too little to count
  const ShapesOfSteps shapes = FindShapes(analysis);
  std::vector<bool> rises(shapes.is_new.size(), false);
  for (const uint32_t step : rising_steps) {
    if (!shapes.is_new[step]) return false;
    rises[step] = true;
  }
  const bool comes_again = std::any_of(shapes.again.begin(), shapes.again.end(), [&](const auto& again) {
    return !rises[again.first] && !shapes.is_new[again.first] && rises[again.second];
  });
  // The changes of the first step and of the last one are not known.
  const auto new_count = std::count(shapes.is_new.begin() + 1, shapes.is_new.end() - 1, true);
  return comes_again && (new_count - static_cast<ptrdiff_t>(rising_steps.size())) * kMostNewWithoutRise <= new_count;
}

}  // namespace memstrata
