#include "analysis/next_peak/next_peak.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/bands/bands.h"
#include "analysis/frames/useful_frame.h"
#include "analysis/holders/holders.h"
#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kMostStacks = 5;

// The live curve without some blocks.
template <class IsRemoved>
Peak PeakWithout(const HeapAnalysis& analysis, IsRemoved is_removed) {
  const AllocationTable& table = analysis.store->allocations;
  std::vector<int64_t> change(analysis.heap->events.size() + 1, 0);  // by events that have happened
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (!is_removed(row)) continue;
    const auto bytes = static_cast<int64_t>(table.size_bytes[row]);
    change[table.alloc_seq[row] == kNone ? 0 : table.alloc_seq[row] + 1] += bytes;
    if (table.free_seq[row] != kNone) change[table.free_seq[row] + 1] -= bytes;
  }
  Peak highest;
  int64_t removed = 0;
  for (uint32_t count = 0; count < change.size(); ++count) {
    removed += change[count];
    const uint64_t left = analysis.live.At(Moment{count}) - static_cast<uint64_t>(removed);
    if (left > highest.bytes) highest = {left, Moment{count}};
  }
  return highest;
}

// A reentrant checkpoint runs its backward from Python, where no frame is the program's own; the engine's function is
// nothing that a person could remove.
std::string RemovalName(const Store& store, StackId stack) {
  std::string name = UsefulFrameName(store, stack);
  if (!name.starts_with("_engine_run_backward (graph.py")) return name;
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const bool is_checkpoint = std::any_of(frames.begin(), frames.end(), [&](FrameId frame) {
    return store.String(store.stacks.frames().file[frame.value]).ends_with("torch/utils/checkpoint.py");
  });
  return is_checkpoint ? "the backward of checkpointed layers" : "the backward";
}

// Stacks that have the same name for people go together.
void AddStacks(const HeapAnalysis& analysis, std::vector<NextPeak>& result) {
  const Store& store = *analysis.store;
  std::vector<std::pair<std::string, StackId>> removals;  // by what they hold at the peak, largest first
  for (const Holder& holder :
       FindHolders(store, *analysis.heap, analysis.categories, analysis.peak.moment, HolderKey::kStack, kMostStacks)) {
    if (holder.is_other || holder.stack.value == 0 || holder.bytes * 100 < analysis.peak.bytes) continue;
    std::string name = RemovalName(store, holder.stack);
    const bool is_known =
        std::any_of(removals.begin(), removals.end(), [&](const auto& removal) { return removal.first == name; });
    if (!is_known) removals.emplace_back(std::move(name), holder.stack);
  }
  const StackTable& stacks = store.stacks.stacks();
  std::vector<uint8_t> removal_of(stacks.size(), 0);  // 1 + index
  for (uint32_t stack = 1; stack < stacks.size() && !removals.empty(); ++stack) {
    const std::string name = RemovalName(store, StackId{stack});
    for (size_t i = 0; i < removals.size(); ++i) {
      if (removals[i].first == name) removal_of[stack] = static_cast<uint8_t>(i + 1);
    }
  }
  for (size_t i = 0; i < removals.size(); ++i) {
    const Peak peak =
        PeakWithout(analysis, [&](uint32_t row) { return removal_of[store.allocations.stack[row].value] == i + 1; });
    result.push_back({removals[i].first, std::nullopt, removals[i].second, peak, analysis.peak.bytes - peak.bytes});
  }
}

}  // namespace

std::string PlaceOf(const HeapAnalysis& analysis, Moment moment) {
  const uint32_t seq = moment.seq();
  if (seq == kNone) return "before the first event";
  const Phase phase = analysis.timeline.phase_of_event[seq];
  const uint32_t step = analysis.timeline.step_of_event[seq];
  if (phase == Phase::kOther) {
    if (analysis.timeline.steps.empty()) return fmt::format("at event {}", FormatCount(seq));
    return step == kNone ? "outside all steps" : fmt::format("in step {}", step);
  }
  return fmt::format("in {}{}", kPhaseNames[static_cast<size_t>(phase)],
                     step == kNone ? "" : fmt::format(" of step {}", step));
}

NextPeak FindPeakWithout(const HeapAnalysis& analysis, Category category) {
  const Peak peak = PeakWithout(analysis, [&](uint32_t row) { return analysis.CategoryOf(row) == category; });
  return {std::string(kCategoryNames[static_cast<size_t>(category)]),
          category,
          {0},
          peak,
          analysis.peak.bytes - peak.bytes};
}

NextPeak FindPeakWithout(const HeapAnalysis& analysis, std::span<const uint32_t> rows) {
  const Peak peak =
      PeakWithout(analysis, [&](uint32_t row) { return std::binary_search(rows.begin(), rows.end(), row); });
  const StackId stack = analysis.store->allocations.stack[rows.front()];
  return {UsefulFrameName(*analysis.store, stack), std::nullopt, stack, peak, analysis.peak.bytes - peak.bytes};
}

std::vector<NextPeak> FindNextPeaks(const HeapAnalysis& analysis) {
  std::vector<NextPeak> result;
  for (const Band& band : FindBands(analysis)) {
    if (band.category == Category::kUnknown) continue;  // nobody could remove what nobody knows
    if (band.at_peak_bytes * 100 >= analysis.peak.bytes) result.push_back(FindPeakWithout(analysis, band.category));
  }
  AddStacks(analysis, result);
  std::stable_sort(result.begin(), result.end(),
                   [](const NextPeak& a, const NextPeak& b) { return a.gain_bytes > b.gain_bytes; });
  return result;
}

}  // namespace memstrata
