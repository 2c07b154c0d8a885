#include "analysis/growth/growth.h"

#include <algorithm>
#include <cstdlib>

#include "analysis/category/parameter_sizes.h"
#include "analysis/growth/out_of_memory_end.h"
#include "analysis/growth/shape_cache.h"
#include "analysis/growth/step_levels.h"
#include "analysis/heap_analysis.h"
#include "base/flat_map.h"
#include "index/heap_state.h"

namespace memstrata {
namespace {

// The first step makes states and fills caches: growth is looked for after it.
constexpr size_t kFirstSteadyStep = 1;
// Changes below this share of the peak, or this size, are noise: scalars, changed order of frees. Smaller changes count
// where they come with every step.
constexpr uint64_t kNoiseShare = 2'000;
constexpr int64_t kNoiseBytes = 64 << 10;

struct StackBytes {
  StackId stack{0};
  uint64_t bytes = 0;
  uint64_t parameter_like_bytes = 0;  // of blocks with the size of a parameter
};

// Who holds what steps [from, to) left behind and is live at the end of the last complete step.
StackBytes FindHolder(const HeapAnalysis& analysis, uint32_t from_seq, uint32_t to_seq, uint32_t end_seq) {
  const AllocationTable& table = analysis.store->allocations;
  const auto parameter_sizes = CountParameterSizes(*analysis.store, *analysis.heap, analysis.categories);
  FlatMap<uint32_t, uint64_t> by_stack;
  StackBytes total;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t begin = table.alloc_seq[row];
    if (begin == kNone || begin < from_seq || begin >= to_seq || table.free_requested_seq[row] < end_seq) continue;
    const uint64_t bytes = BlockBytesOrRequested(table, row);
    by_stack[table.stack[row].value] += bytes;
    total.bytes += bytes;
    if (parameter_sizes.contains(table.size_bytes[row])) total.parameter_like_bytes += bytes;
  }
  uint64_t most = 0;
  for (const auto& [stack, bytes] : by_stack) {
    if (stack == 0 || bytes < most || (bytes == most && stack > total.stack.value)) continue;
    most = bytes;
    total.stack = {stack};
  }
  return total;
}

int64_t Median(std::vector<int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// The rise of a step where memory rises for several steps in a row and then falls by more than one of them. Steps that
// alternate between two levels are no sawtooth.
std::optional<int64_t> RiseOfTooth(const std::vector<int64_t>& changes, int64_t noise) {
  std::vector<int64_t> rises;
  bool is_tooth = false;
  size_t in_row = 0;
  for (const int64_t change : changes) {
    if (change > noise) {
      rises.push_back(change);
      ++in_row;
      continue;
    }
    if (change >= -noise) continue;
    if (in_row >= 2 && -change > rises.back()) is_tooth = true;
    in_row = 0;
  }
  return is_tooth ? std::optional<int64_t>(Median(rises)) : std::nullopt;
}

// A step in which memory falls back has itself added what every step adds: the fall is larger by that. The recording
// may end with a fall; one as large as the others, and as deep, is no end of the program.
void CountTeeth(const std::vector<int64_t>& changes, int64_t last_change, int64_t rise, int64_t noise, Growth& growth) {
  int64_t largest = 0;
  uint64_t lowest = growth.level_bytes.back();  // after a fall
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] >= -noise) continue;
    const uint64_t after = growth.level_bytes[kFirstSteadyStep + i + 1];
    lowest = growth.tooth_count == 0 ? after : std::min(lowest, after);
    ++growth.tooth_count;
    largest = std::max(largest, rise - changes[i]);
  }
  const int64_t last_fall = rise - last_change;
  const bool is_end = growth.level_bytes.back() + static_cast<uint64_t>(noise) < lowest;
  if (!is_end && last_change < -noise && last_fall >= largest - rise && last_fall <= largest + rise) {
    ++growth.tooth_count;
    largest = std::max(largest, last_fall);
  }
  growth.tooth_bytes = static_cast<uint64_t>(largest);
}

// By how much reserved memory grows in several steps, if it is much more than their peaks grow; else 0.
uint64_t GrowthOfReserved(const HeapAnalysis& analysis) {
  if (!analysis.heap->capabilities.has_segments) return 0;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const Curve reserved = BuildCurve(*analysis.store, *analysis.heap, Measure::kReserved);
  const auto reserved_at = [&](const StepSpan& step) {
    return static_cast<int64_t>(reserved.At(Moment{step.end_seq}));
  };
  const auto peak_of = [&](const StepSpan& step) {
    return static_cast<int64_t>(analysis.HighestIn(step.begin_seq, step.end_seq).bytes);
  };
  const StepSpan& first = steps[kFirstSteadyStep];
  const int64_t before = reserved_at(first);
  const int64_t growth = reserved_at(steps.back()) - before;
  size_t grows = 0;
  for (size_t step = kFirstSteadyStep + 1; step < steps.size(); ++step) {
    grows += reserved_at(steps[step]) > reserved_at(steps[step - 1]) ? 1 : 0;
  }
  // What one large step needed stays reserved; growth goes on.
  const size_t middle = kFirstSteadyStep + (steps.size() - kFirstSteadyStep) / 2;
  const bool goes_on = (reserved_at(steps.back()) - reserved_at(steps[middle])) * 8 > growth;
  const bool is_much = goes_on && grows >= 2 && growth > before / 4 &&
                       growth > 2 * std::max<int64_t>(peak_of(steps.back()) - peak_of(first), 0);
  return is_much ? static_cast<uint64_t>(growth) : 0;
}

StackBytes NameHolder(const HeapAnalysis& analysis, size_t from_step, size_t to_step, Growth& growth) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const StackBytes holder =
      FindHolder(analysis, steps[from_step].begin_seq, steps[to_step - 1].end_seq, steps.back().begin_seq);
  growth.holder_bytes = holder.bytes;
  if (holder.stack.value != 0) growth.holder_stack = holder.stack;
  return holder;
}

/// What steps add where memory never falls back: `changes[i]` is that of step kFirstSteadyStep + i.
struct Rises {
  std::vector<size_t> at;  // indices into the changes
  int64_t total_bytes = 0;
  int64_t median_bytes = 0;
  size_t looked_at_count = 0;  // changes in all
  size_t largest_gap = 1;      // in steps, between two of them

  size_t quiet_after() const { return looked_at_count - 1 - at.back(); }
  /// Of the changes since the first rise, four of five rise.
  bool IsSteady() const { return at.size() * 10 >= (looked_at_count - at.front()) * 8; }
};

std::optional<Rises> FindRises(const std::vector<int64_t>& changes, int64_t noise) {
  Rises rises;
  rises.looked_at_count = changes.size();
  std::vector<int64_t> values;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] < -noise) return std::nullopt;
    if (changes[i] <= noise) continue;
    if (!rises.at.empty()) rises.largest_gap = std::max(rises.largest_gap, i - rises.at.back());
    rises.at.push_back(i);
    values.push_back(changes[i]);
    rises.total_bytes += changes[i];
  }
  if (rises.at.empty()) return std::nullopt;
  rises.median_bytes = Median(values);
  return rises;
}

// Three steps that left something make a rule, unless nothing more came for long: twice as many steps as the longest
// wait before.
bool GoesOn(const Rises& rises) {
  const size_t fewest = rises.IsSteady() ? 2 : 3;
  return rises.at.size() >= fewest && rises.quiet_after() <= 2 * rises.largest_gap;
}

// The mean from the first rise to the last one, which leaves the wait after the last out.
int64_t MeanPerStep(const Rises& rises, const std::vector<int64_t>& changes) {
  const auto steps = static_cast<int64_t>(rises.at.back() - rises.at.front());
  return steps == 0 ? rises.total_bytes : (rises.total_bytes - changes[rises.at.front()]) / steps;
}

// One jump may lie across the border of two steps. What warms up does not wait for a step that leaves nothing.
bool IsOneJump(const Rises& rises, const std::vector<uint64_t>& level_bytes) {
  const size_t first = kFirstSteadyStep + rises.at.front();
  return rises.at.size() == 2 && rises.largest_gap == 1 && level_bytes[first] == level_bytes[first - 1];
}

// Whether what is live rose with the one step that kept more: fewer blocks that come and go may hide as much.
bool RisesInAll(const Rises& rises, const std::vector<uint64_t>& level_bytes, int64_t noise) {
  const size_t step = kFirstSteadyStep + rises.at.front();
  return rises.at.size() > 1 || level_bytes[step + 1] > level_bytes[step] + static_cast<uint64_t>(noise);
}

bool LoadsAgain(const HeapAnalysis& analysis) {
  const std::vector<PhaseSpan>& phases = analysis.timeline.phases;
  return std::any_of(phases.begin(), phases.end(),
                     [](const PhaseSpan& span) { return span.phase == Phase::kLoad && span.step != kNone; });
}

// Memory that never falls back: a leak where more comes until the end, else what one step or some have left. A state as
// large as parameters is warm-up, and so is a cache that grows with new shapes only.
void JudgeRises(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, const Rises& rises, Growth& growth) {
  const size_t first = kFirstSteadyStep + rises.at.front();
  const size_t last = kFirstSteadyStep + rises.at.back();
  growth.begin_step = static_cast<uint32_t>(first);
  growth.last_rising_step = static_cast<uint32_t>(last);
  growth.rising_step_count = static_cast<uint32_t>(rises.at.size());
  growth.bytes_per_rise = rises.median_bytes;
  std::vector<uint32_t> rising_steps;
  for (const size_t at : rises.at) rising_steps.push_back(static_cast<uint32_t>(kFirstSteadyStep + at));
  growth.is_shape_cache = rises.at.size() >= 2 && GrowsWithNewShapes(analysis, rising_steps);
  if (growth.is_shape_cache) {
    growth.kind = GrowthKind::kWarmUp;
    growth.bytes_per_step = rises.total_bytes;
    NameHolder(analysis, first, last + 1, growth);
    return;
  }
  if (GoesOn(rises)) {
    growth.kind = GrowthKind::kLeak;
    growth.bytes_per_step = rises.IsSteady() ? rises.median_bytes : MeanPerStep(rises, changes);
    NameHolder(analysis, first, analysis.timeline.steps.size() - 1, growth);
    return;
  }
  const StackBytes holder = NameHolder(analysis, first, last + 1, growth);
  const bool is_state = holder.parameter_like_bytes * 10 > holder.bytes * 9 && !LoadsAgain(analysis);
  growth.bytes_per_step = rises.total_bytes;
  if (is_state) {
    growth.kind = GrowthKind::kWarmUp;
  } else if (rises.at.size() == 1 || IsOneJump(rises, growth.level_bytes)) {
    growth.kind = GrowthKind::kOneOff;
  } else {
    growth.kind = rises.quiet_after() > 2 * rises.largest_gap ? GrowthKind::kWarmUp : GrowthKind::kUnknown;
  }
}

void JudgeTooth(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, int64_t rise, int64_t noise,
                Growth& growth) {
  growth.kind = GrowthKind::kSawtooth;
  growth.bytes_per_step = rise;
  growth.begin_step = kFirstSteadyStep;
  const auto last_change = static_cast<int64_t>(growth.level_bytes.back()) -
                           static_cast<int64_t>(growth.level_bytes[growth.level_bytes.size() - 2]);
  CountTeeth(changes, last_change, rise, noise, growth);
  NameHolder(analysis, kFirstSteadyStep, analysis.timeline.steps.size() - 1, growth);
}

// What every step from the second on adds is growth however small it is next to the peak: over a long run it adds up.
std::optional<Rises> SmallSteadyRises(const std::vector<int64_t>& changes) {
  constexpr size_t kFewestSteps = 4;
  const std::optional<Rises> rises = FindRises(changes, kNoiseBytes);
  const bool is_steady = rises && rises->at.size() >= kFewestSteps && rises->at.size() * 10 >= changes.size() * 8;
  return is_steady ? rises : std::nullopt;
}

void Judge(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, Growth& growth) {
  const int64_t noise = std::max(kNoiseBytes, static_cast<int64_t>(analysis.peak.bytes / kNoiseShare));
  constexpr size_t kFewestChangesForOne = 3;  // of fewer, a single rise says nothing
  if (const auto tooth = RiseOfTooth(changes, noise)) return JudgeTooth(analysis, changes, *tooth, noise, growth);
  const std::optional<Rises> rises = FindRises(changes, noise);
  const bool is_rise = rises && RisesInAll(*rises, growth.level_bytes, noise);
  if (is_rise && (GoesOn(*rises) || changes.size() >= kFewestChangesForOne))
    return JudgeRises(analysis, changes, *rises, growth);
  if (const std::optional<Rises> small = SmallSteadyRises(changes))
    return JudgeRises(analysis, changes, *small, growth);
  if (changes.size() < 2) return;
  if (const int64_t median = Median(changes); std::abs(median) <= kNoiseBytes) growth.bytes_per_step = median;
  growth.reserved_growth_bytes = GrowthOfReserved(analysis);
  if (growth.reserved_growth_bytes == 0) return;
  growth.kind = GrowthKind::kFragmentation;
  growth.bytes_per_step.reset();
  growth.begin_step = kFirstSteadyStep;
}

// A generation of one text: of many texts, each a step, nothing grows by design.
bool IsOneGeneration(const Timeline& timeline) {
  if (!timeline.Has(Phase::kDecode)) return false;
  constexpr size_t kFewestTexts = 3;
  size_t text_count = 0;
  uint32_t step = kNone;
  for (const PhaseSpan& span : timeline.phases) {
    if (span.phase != Phase::kPrefill || span.step == step) continue;
    step = span.step;
    ++text_count;
  }
  return text_count < kFewestTexts;
}

}  // namespace

Growth FindGrowth(const HeapAnalysis& analysis) {
  Growth growth;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  growth.step_count = static_cast<uint32_t>(steps.size());
  growth.is_generation = IsOneGeneration(analysis.timeline);
  const StepLevels levels = FindStepLevels(analysis);
  growth.level_bytes = levels.live_bytes;
  if (steps.size() < kFirstSteadyStep + 2) return growth;
  // Between the starts of steps: the end of the last one may hold the end of the program.
  const std::vector<uint64_t>& level_bytes = growth.is_generation ? levels.live_bytes : levels.kept_bytes;
  std::vector<int64_t> changes;
  for (size_t step = kFirstSteadyStep; step + 1 < steps.size(); ++step)
    changes.push_back(static_cast<int64_t>(level_bytes[step + 1]) - static_cast<int64_t>(level_bytes[step]));
  if (growth.is_generation) {
    growth.bytes_per_step = Median(changes);
    return growth;
  }
  Judge(analysis, changes, growth);
  if (growth.kind == GrowthKind::kLeak) growth.ends_in_oom = FindOutOfMemoryEnd(analysis, *growth.bytes_per_step);
  return growth;
}

}  // namespace memstrata
