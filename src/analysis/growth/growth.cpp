#include "analysis/growth/growth.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "analysis/growth/growth_holder.h"
#include "analysis/growth/out_of_memory_end.h"
#include "analysis/growth/rises.h"
#include "analysis/growth/shape_cache.h"
#include "analysis/growth/step_levels.h"
#include "analysis/heap_analysis.h"
#include "index/heap_state.h"

namespace memstrata {
namespace {

// Changes below this share of the peak, or this size, are noise: scalars, changed order of frees. Smaller changes count
// where they come with every step.
constexpr uint64_t kNoiseShare = 2'000;
constexpr int64_t kNoiseBytes = 64 << 10;
constexpr int64_t kSteadyNoiseBytes = 16 << 10;

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

GrowthHolder NameHolder(const HeapAnalysis& analysis, size_t from_step, size_t to_step, Growth& growth) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const GrowthHolder holder =
      FindGrowthHolder(analysis, steps[from_step].begin_seq, steps[to_step - 1].end_seq, steps.back().begin_seq);
  growth.holder_bytes = holder.bytes;
  growth.largest_holder_bytes = holder.largest_bytes;
  if (holder.stack.value != 0) growth.holder_stack = holder.stack;
  return holder;
}

// What the last steps made may be what they hand on, as gradients and outputs; a history that is copied is nothing
// else.
void NameHolderOfLeak(const HeapAnalysis& analysis, Growth& growth) {
  const size_t begin = growth.begin_step.value_or(kFirstSteadyStep);
  const size_t step_count = analysis.timeline.steps.size();
  const GrowthHolder holder = NameHolder(analysis, begin, std::max(begin + 1, step_count - 2), growth);
  if (holder.bytes == 0) NameHolder(analysis, begin, step_count - 1, growth);
  // Much less or more than what was added is something else that stays beside it.
  const int64_t added_bytes = growth.bytes_per_step.value_or(0) * growth.rising_step_count;
  const auto held_bytes = static_cast<int64_t>(growth.holder_bytes);
  if (held_bytes * 2 < added_bytes || held_bytes > added_bytes * 4) growth.holder_stack.reset();
}

// One jump may lie across the border of two steps. What warms up does not wait for a step that leaves nothing.
bool IsOneJump(const Rises& rises, const std::vector<uint64_t>& level_bytes) {
  const size_t first = kFirstSteadyStep + rises.at.front();
  return rises.at.size() == 2 && rises.largest_gap == 1 && level_bytes[first] == level_bytes[first - 1];
}

// Whether what is live rose with the few steps that kept more: fewer blocks that come and go may hide as much, and the
// allocator may have given larger blocks for the same requests.
bool RisesInAll(const HeapAnalysis& analysis, const Rises& rises, int64_t noise) {
  constexpr size_t kFew = 3;
  if (rises.at.size() > kFew) return true;
  const auto live_before = [&](size_t step) {
    return static_cast<int64_t>(analysis.live.At(Moment{analysis.timeline.steps[step].begin_seq}));
  };
  const int64_t rise =
      live_before(kFirstSteadyStep + rises.at.back() + 1) - live_before(kFirstSteadyStep + rises.at.front());
  return rise > std::max(noise, rises.total_bytes / 2);
}

bool LoadsAgain(const HeapAnalysis& analysis) {
  const std::vector<PhaseSpan>& phases = analysis.timeline.phases;
  return std::any_of(phases.begin(), phases.end(),
                     [](const PhaseSpan& span) { return span.phase == Phase::kLoad && span.step != kNone; });
}

void Describe(const Rises& rises, Growth& growth) {
  growth.begin_step = static_cast<uint32_t>(kFirstSteadyStep + rises.at.front());
  growth.last_rising_step = static_cast<uint32_t>(kFirstSteadyStep + rises.at.back());
  growth.rising_step_count = static_cast<uint32_t>(rises.at.size());
  growth.median_rise_bytes = rises.median_bytes;
  growth.smallest_rise_bytes = rises.smallest_bytes;
  growth.largest_rise_bytes = rises.largest_bytes;
}

bool IsShapeCache(const HeapAnalysis& analysis, const Rises& rises) {
  std::vector<uint32_t> rising_steps;
  for (const size_t at : rises.at) rising_steps.push_back(static_cast<uint32_t>(kFirstSteadyStep + at));
  return rises.at.size() >= 2 && GrowsWithNewShapes(analysis, rising_steps);
}

void JudgeLeak(const HeapAnalysis& analysis, std::span<const int64_t> changes, const Rises& leak, Growth& growth) {
  Describe(leak, growth);
  const Slope slope = FindSlope(changes, leak);
  growth.kind = GrowthKind::kLeak;
  growth.bytes_per_step = slope.bytes_per_step;
  growth.are_rises_alike = slope.is_alike;
  growth.period = static_cast<uint32_t>(slope.period);
  NameHolderOfLeak(analysis, growth);
}

// Gradients and states of parameters that are trained from some step on.
bool IsStateOfTraining(const HeapAnalysis& analysis, const Rises& rises) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const GrowthHolder holder =
      FindGrowthHolder(analysis, steps[kFirstSteadyStep + rises.at.front()].begin_seq,
                       steps[kFirstSteadyStep + rises.at.back()].end_seq, steps.back().begin_seq);
  return holder.state_bytes * 10 > holder.bytes * 9 && !LoadsAgain(analysis);
}

// Memory that never falls back: a leak where more comes until the end, else what one step or some have left. A state as
// large as parameters is warm-up, and so is a cache that grows with new shapes only.
void JudgeRises(const HeapAnalysis& analysis, std::span<const int64_t> changes, const Rises& rises, Growth& growth) {
  growth.is_shape_cache = IsShapeCache(analysis, rises);
  const bool is_training_state = !growth.is_shape_cache && IsStateOfTraining(analysis, rises);
  if (!growth.is_shape_cache && !is_training_state) {
    if (const std::optional<Rises> leak = FindLeak(changes, rises)) return JudgeLeak(analysis, changes, *leak, growth);
  }
  const Rises early = growth.is_shape_cache || is_training_state ? rises : WithoutAfterthoughts(changes, rises);
  Describe(early, growth);
  growth.bytes_per_step = early.total_bytes;
  growth.later_bytes = rises.total_bytes - early.total_bytes;
  const GrowthHolder holder = NameHolder(analysis, *growth.begin_step, growth.last_rising_step + 1, growth);
  const bool is_like_parameters = holder.parameter_like_bytes * 10 > holder.bytes * 9 && !LoadsAgain(analysis);
  // What a step kept lives on; what later steps replace is their own state.
  const bool is_kept = holder.bytes * 2 >= static_cast<uint64_t>(early.total_bytes);
  if (growth.is_shape_cache || is_training_state || is_like_parameters || !is_kept) {
    growth.kind = GrowthKind::kWarmUp;
  } else if (early.at.size() == 1 || IsOneJump(early, growth.level_bytes)) {
    growth.kind = GrowthKind::kOneOff;
  } else {
    growth.kind = early.HasEnded() ? GrowthKind::kWarmUp : GrowthKind::kUnknown;
  }
}

// Memory has fallen once for another reason, and has grown ever since.
bool JudgeSinceLastFall(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, int64_t noise,
                        Growth& growth) {
  const std::optional<std::vector<int64_t>> since = SinceLastFall(changes, noise);
  const std::optional<Rises> rises = since ? FindRises(*since, noise) : std::nullopt;
  const std::optional<Rises> leak = rises ? FindLeak(*since, *rises) : std::nullopt;
  if (leak) JudgeRises(analysis, *since, *rises, growth);
  return leak.has_value();
}

// A leak under a sawtooth.
bool JudgeValleys(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, int64_t noise, Growth& growth) {
  const std::optional<Slope> slope = SlopeOfValleys(changes, noise);
  if (!slope) return false;
  growth.kind = GrowthKind::kLeak;
  growth.bytes_per_step = slope->bytes_per_step;
  growth.begin_step = kFirstSteadyStep;
  growth.rising_step_count = growth.step_count - kFirstSteadyStep - 1;
  growth.last_rising_step = growth.step_count - 2;
  growth.median_rise_bytes = growth.smallest_rise_bytes = growth.largest_rise_bytes = slope->bytes_per_step;
  growth.are_rises_alike = slope->is_alike;
  NameHolderOfLeak(analysis, growth);
  return true;
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
  const std::optional<Rises> rises = FindRises(changes, kSteadyNoiseBytes);
  const bool is_steady = rises && rises->at.size() >= kFewestSteps && IsSteadyRise(rises->at.size(), changes.size()) &&
                         FindLeak(changes, *rises);
  return is_steady ? rises : std::nullopt;
}

void Judge(const HeapAnalysis& analysis, const std::vector<int64_t>& changes, Growth& growth) {
  const int64_t noise = std::max(kNoiseBytes, static_cast<int64_t>(analysis.peak.bytes / kNoiseShare));
  constexpr size_t kFewestChangesForOne = 3;  // of fewer, a single rise says nothing
  if (JudgeSinceLastFall(analysis, changes, noise, growth) || JudgeValleys(analysis, changes, noise, growth)) return;
  if (const auto tooth = RiseOfTooth(changes, noise)) return JudgeTooth(analysis, changes, *tooth, noise, growth);
  const std::optional<Rises> rises = FindRises(changes, noise);
  const bool is_rise = rises && RisesInAll(analysis, *rises, noise);
  if (is_rise && (FindLeak(changes, *rises) || changes.size() >= kFewestChangesForOne))
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

std::vector<int64_t> ChangesOf(const std::vector<uint64_t>& level_bytes) {
  std::vector<int64_t> changes;  // between the starts of steps: the end of the last one may hold that of the program
  for (size_t step = kFirstSteadyStep; step + 2 < level_bytes.size(); ++step)
    changes.push_back(static_cast<int64_t>(level_bytes[step + 1]) - static_cast<int64_t>(level_bytes[step]));
  return changes;
}

// Whether what each step hands to the next one grows by as much every time, while the shapes of the steps do not: a
// history that is copied to a larger block with each step.
bool HandsOnMore(const HeapAnalysis& analysis, const StepLevels& levels) {
  std::vector<uint64_t> handed_bytes(levels.live_bytes.size());
  for (size_t i = 0; i < handed_bytes.size(); ++i) handed_bytes[i] = levels.live_bytes[i] - levels.kept_bytes[i];
  const std::vector<int64_t> changes = ChangesOf(handed_bytes);
  const std::optional<Rises> rises = SmallSteadyRises(changes);
  if (!rises || !FindSlope(changes, *rises).is_alike) return false;
  const std::vector<uint64_t> forward_bytes = FindForwardBytes(analysis);
  const uint64_t first = forward_bytes[kFirstSteadyStep];
  const uint64_t last = forward_bytes[forward_bytes.size() - 2];
  return last * 20 <= first * 21;  // to a twentieth
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
  const bool counts_all = growth.is_generation || HandsOnMore(analysis, levels);
  const std::vector<int64_t> changes = ChangesOf(counts_all ? levels.live_bytes : levels.kept_bytes);
  if (growth.is_generation) {
    growth.bytes_per_step = Median(changes);
    return growth;
  }
  Judge(analysis, changes, growth);
  if (growth.kind == GrowthKind::kNoGrowth && growth.bytes_per_step) {
    const int64_t median = Median(ChangesOf(levels.live_bytes));  // what is handed on included
    if (std::abs(median) <= kSteadyNoiseBytes) growth.bytes_per_step = median;
  }
  if (growth.kind == GrowthKind::kLeak) growth.ends_in_oom = FindOutOfMemoryEnd(analysis, growth);
  return growth;
}

}  // namespace memstrata
