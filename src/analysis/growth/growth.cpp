#include "analysis/growth/growth.h"

#include <algorithm>

#include "analysis/growth/out_of_memory_end.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// The first step makes states and fills caches: growth is looked for after it.
constexpr size_t kFirstSteadyStep = 1;
// Changes below this share of the peak, or this size, are noise: scalars, changed order of frees.
constexpr uint64_t kNoiseShare = 2'000;
constexpr int64_t kNoiseBytes = 64 << 10;

uint64_t BlockBytes(const AllocationTable& table, uint32_t row) {
  return table.block_bytes[row] == kUnknownBytes ? table.size_bytes[row] : table.block_bytes[row];
}

// Live blocks at the start of each step and at the end of the last; a block counts until the program gives it back.
std::vector<uint64_t> LevelsOf(const HeapAnalysis& analysis) {
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  std::vector<int64_t> change(steps.size() + 1, 0);
  const auto add = [&](uint32_t seq, int64_t bytes) {  // from the first border after `seq` on
    const auto after =
        std::partition_point(steps.begin(), steps.end(), [&](const StepSpan& step) { return step.begin_seq <= seq; });
    change[static_cast<size_t>(after - steps.begin())] += bytes;
  };
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const auto bytes = static_cast<int64_t>(BlockBytes(table, row));
    if (table.alloc_seq[row] == kNone) {
      change[0] += bytes;
    } else {
      add(table.alloc_seq[row], bytes);
    }
    if (table.free_requested_seq[row] != kNone) add(table.free_requested_seq[row], -bytes);
  }
  std::vector<uint64_t> levels;
  int64_t level = 0;
  for (const int64_t delta : change) {
    level += delta;
    levels.push_back(static_cast<uint64_t>(std::max<int64_t>(level, 0)));
  }
  return levels;
}

struct StackBytes {
  StackId stack{0};
  uint64_t bytes = 0;
  uint64_t parameter_like_bytes = 0;  // of blocks with the size of a parameter
};

// Who holds what steps [from, to) left behind and is live at the end of the last complete step.
StackBytes FindHolder(const HeapAnalysis& analysis, uint32_t from_seq, uint32_t to_seq, uint32_t end_seq) {
  const AllocationTable& table = analysis.store->allocations;
  FlatMap<uint64_t, bool> parameter_sizes;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (analysis.CategoryOf(row) == Category::kParameter) parameter_sizes[table.size_bytes[row]] = true;
  }
  FlatMap<uint32_t, uint64_t> by_stack;
  StackBytes total;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t begin = table.alloc_seq[row];
    if (begin == kNone || begin < from_seq || begin >= to_seq || table.free_requested_seq[row] < end_seq) continue;
    by_stack[table.stack[row].value] += BlockBytes(table, row);
    total.bytes += BlockBytes(table, row);
    if (parameter_sizes.contains(table.size_bytes[row])) total.parameter_like_bytes += BlockBytes(table, row);
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
// may end with a fall; one as large as the others is no end of the program.
void CountTeeth(const std::vector<int64_t>& changes, int64_t last_change, int64_t rise, int64_t noise, Growth& growth) {
  int64_t largest = 0;
  for (const int64_t change : changes) {
    if (change >= -noise) continue;
    ++growth.tooth_count;
    largest = std::max(largest, rise - change);
  }
  const int64_t last_fall = rise - last_change;
  if (last_change < -noise && last_fall >= largest - rise && last_fall <= largest + rise) {
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
  const bool is_much =
      grows >= 2 && growth > before / 4 && growth > 2 * std::max<int64_t>(peak_of(steps.back()) - peak_of(first), 0);
  return is_much ? static_cast<uint64_t>(growth) : 0;
}

void NameHolder(const HeapAnalysis& analysis, size_t from_step, size_t to_step, Growth& growth) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const StackBytes holder =
      FindHolder(analysis, steps[from_step].begin_seq, steps[to_step - 1].end_seq, steps.back().begin_seq);
  growth.holder_bytes = holder.bytes;
  if (holder.stack.value != 0) growth.holder_stack = holder.stack;
}

// One jump that stays: a state as large as parameters is warm-up, anything else was kept once.
void JudgeJump(const HeapAnalysis& analysis, size_t step, int64_t jump, Growth& growth) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const StackBytes holder = FindHolder(analysis, steps[step].begin_seq, steps[step].end_seq, steps.back().begin_seq);
  bool loads_again = false;
  for (const PhaseSpan& span : analysis.timeline.phases)
    loads_again = loads_again || (span.phase == Phase::kLoad && span.step != kNone);
  const bool is_state = holder.parameter_like_bytes * 10 > holder.bytes * 9 && !loads_again;
  growth.kind = is_state ? GrowthKind::kWarmUp : GrowthKind::kOneOff;
  growth.bytes_per_step = jump;
  growth.begin_step = static_cast<uint32_t>(step);
  growth.holder_bytes = holder.bytes;
  if (holder.stack.value != 0) growth.holder_stack = holder.stack;
}

}  // namespace

Growth FindGrowth(const HeapAnalysis& analysis) {
  Growth growth;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  growth.step_count = static_cast<uint32_t>(steps.size());
  growth.level_bytes = LevelsOf(analysis);
  const bool is_generation = analysis.timeline.Has(Phase::kDecode);  // its cache grows by design
  growth.is_generation = is_generation;
  if (steps.size() < kFirstSteadyStep + 2 || is_generation) return growth;
  // Between the starts of steps: the end of the last one may hold the end of the program.
  std::vector<int64_t> changes;
  for (size_t step = kFirstSteadyStep; step + 1 < steps.size(); ++step) {
    changes.push_back(static_cast<int64_t>(growth.level_bytes[step + 1]) -
                      static_cast<int64_t>(growth.level_bytes[step]));
  }
  const int64_t noise = std::max(kNoiseBytes, static_cast<int64_t>(analysis.peak.bytes / kNoiseShare));
  const auto grows = static_cast<size_t>(
      std::count_if(changes.begin(), changes.end(), [&](int64_t change) { return change > noise; }));
  const auto falls = static_cast<size_t>(
      std::count_if(changes.begin(), changes.end(), [&](int64_t change) { return change < -noise; }));
  const int64_t median = Median(changes);
  if (const auto tooth = RiseOfTooth(changes, noise)) {
    growth.kind = GrowthKind::kSawtooth;
    growth.bytes_per_step = *tooth;
    growth.begin_step = kFirstSteadyStep;
    const auto last_change = static_cast<int64_t>(growth.level_bytes.back()) -
                             static_cast<int64_t>(growth.level_bytes[growth.level_bytes.size() - 2]);
    CountTeeth(changes, last_change, *tooth, noise, growth);
    NameHolder(analysis, kFirstSteadyStep, steps.size() - 1, growth);
  } else if (grows >= 2 && falls == 0 && grows * 10 >= changes.size() * 8) {
    growth.kind = GrowthKind::kLeak;
    growth.bytes_per_step = median;
    growth.begin_step = kFirstSteadyStep;
    NameHolder(analysis, kFirstSteadyStep, steps.size() - 1, growth);
  } else if (grows > 0 && falls == 0 && changes.size() >= 3) {
    const auto jump = std::max_element(changes.begin(), changes.end());
    JudgeJump(analysis, kFirstSteadyStep + static_cast<size_t>(jump - changes.begin()), *jump, growth);
  } else if (steps.size() >= kFirstSteadyStep + 3) {
    growth.reserved_growth_bytes = GrowthOfReserved(analysis);
    if (growth.reserved_growth_bytes > 0) {
      growth.kind = GrowthKind::kFragmentation;
      growth.begin_step = kFirstSteadyStep;
    }
  }
  if (growth.kind == GrowthKind::kLeak) growth.ends_in_oom = FindOutOfMemoryEnd(analysis, median);
  return growth;
}

}  // namespace memstrata
