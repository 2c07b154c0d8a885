#include <fmt/format.h>

#include <algorithm>

#include "analysis/marks/step_marks.h"
#include "base/units.h"

namespace memstrata {
namespace {

/// The highest sum of live temporaries of the optimizer, and when.
struct HighestTemporaries {
  uint64_t bytes = 0;
  uint32_t seq = kNone;
};

// Temporaries that the optimizer makes for many parameters before it frees any are held together; those that come and
// go one by one, or come on top of the others, are not.
struct OptimizerTemporaries {
  std::vector<int64_t> change;  // by event from optimizer_begin on, of all
  uint64_t largest_group_bytes = 0;
  uint32_t group_count = 0;
};

OptimizerTemporaries CollectTemporaries(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  OptimizerTemporaries result;
  result.change.assign(view.optimizer_end - view.optimizer_begin + 1, 0);
  const StackId none{kNone};
  StackId group_stack = none;
  uint64_t group_bytes = 0;
  uint32_t group_count = 0;
  const auto finish = [&] {
    if (group_bytes > result.largest_group_bytes) {
      result.largest_group_bytes = group_bytes;
      result.group_count = group_count;
    }
    group_bytes = 0;
    group_count = 0;
  };
  uint32_t earliest_free = kNone;
  for (const uint32_t row : view.made) {
    const uint32_t begin = table.alloc_seq[row];
    if (begin < view.optimizer_begin || begin >= view.optimizer_end || analysis.CategoryOf(row) != Category::kTemporary)
      continue;
    const uint32_t end = std::min(table.free_requested_seq[row], view.optimizer_end);
    result.change[begin - view.optimizer_begin] += static_cast<int64_t>(table.size_bytes[row]);
    result.change[end - view.optimizer_begin] -= static_cast<int64_t>(table.size_bytes[row]);
    if (table.stack[row] != group_stack || begin > earliest_free) {
      finish();
      earliest_free = kNone;
    }
    group_stack = table.stack[row];
    earliest_free = std::min(earliest_free, end);
    group_bytes += table.size_bytes[row];
    ++group_count;
  }
  finish();
  return result;
}

HighestTemporaries FindHighest(const OptimizerTemporaries& temporaries, const StepView& view) {
  HighestTemporaries highest;
  int64_t sum = 0;
  for (uint32_t i = 0; i < temporaries.change.size(); ++i) {
    sum += temporaries.change[i];
    if (sum > static_cast<int64_t>(highest.bytes)) highest = {static_cast<uint64_t>(sum), view.optimizer_begin + i};
  }
  return highest;
}

// Fewer temporaries at a time are those of single tensors.
constexpr uint32_t kFewestOfGroup = 4;

// The last block of a group, large and soon given back: the group rises to it and falls from it.
std::optional<Mark> FindTip(const HeapAnalysis& analysis, const StepView& view, const HighestTemporaries& highest) {
  const AllocationTable& table = analysis.store->allocations;
  constexpr uint32_t kNarrowShare = 20;  // of the update's events
  constexpr uint64_t kTallShare = 20;    // of the temporaries
  const auto tip = std::lower_bound(view.made.begin(), view.made.end(), highest.seq,
                                    [&](uint32_t row, uint32_t seq) { return table.alloc_seq[row] < seq; });
  if (tip == view.made.end() || table.alloc_seq[*tip] != highest.seq) return std::nullopt;
  const uint32_t event_count = view.optimizer_end - view.optimizer_begin;
  const uint64_t bytes = table.size_bytes[*tip];
  const bool is_narrow = table.free_requested_seq[*tip] < highest.seq + event_count / kNarrowShare;
  if (!is_narrow || bytes < highest.bytes / kTallShare) return std::nullopt;
  return Mark{MarkKind::kOptimizerFlagpole,
              view.step,
              highest.seq,
              table.free_requested_seq[*tip] + 1,
              bytes,
              1,
              fmt::format("The last temporary of the update, on top of the others: {}", FormatBytes(bytes)),
              table.stack[*tip]};
}

}  // namespace

std::optional<Mark> FindZeroGradSlope(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  std::vector<uint32_t> freed;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t end = table.free_requested_seq[row];
    if (end == kNone || end < view.span.begin_seq || end >= view.span.end_seq) continue;
    if (analysis.CategoryOf(row) != Category::kGradient || analysis.timeline.phase_of_event[end] != Phase::kZeroGrad)
      continue;
    freed.push_back(row);
  }
  uint64_t of_step_count = 0;
  Mark mark{MarkKind::kZeroGradSlope, view.step, kNone, 0, 0, 0, "", {0}};
  for (const uint32_t row : OfOneRepeat(view, freed, table.free_requested_seq, table.size_bytes)) {
    const uint32_t end = table.free_requested_seq[row];
    mark.begin_seq = std::min(mark.begin_seq, end);
    mark.end_seq = std::max(mark.end_seq, end + 1);
    mark.bytes += table.size_bytes[row];
    mark.count = *mark.count + 1;
    mark.stack = table.free_stack[row];
    const bool is_of_step = table.alloc_seq[row] != kNone && table.alloc_seq[row] >= view.span.begin_seq;
    of_step_count += is_of_step ? 1 : 0;
  }
  if (*mark.count == 0) return std::nullopt;
  std::string_view whose;  // a part of each is told as neither
  if (of_step_count == *mark.count) whose = " of this step";
  if (of_step_count == 0) whose = " of the step before";
  mark.text =
      fmt::format("zero_grad frees {}{}: {}", FormatCount(*mark.count, "gradient"), whose, FormatBytes(mark.bytes));
  return mark;
}

std::optional<Mark> FindOptimizerStateInit(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  Mark mark{MarkKind::kOptimizerStateInit, kNone, kNone, 0, 0, 0, "", {0}};
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t begin = table.alloc_seq[row];
    if (begin == kNone || analysis.CategoryOf(row) != Category::kOptimizerState ||
        analysis.timeline.phase_of_event[begin] != Phase::kOptimizer)
      continue;
    if (mark.step == kNone) mark.step = analysis.timeline.step_of_event[begin];
    if (mark.step != analysis.timeline.step_of_event[begin]) continue;
    mark.begin_seq = std::min(mark.begin_seq, begin);
    mark.end_seq = std::max(mark.end_seq, begin + 1);
    mark.bytes += table.size_bytes[row];
    mark.count = *mark.count + 1;
    if (mark.stack.value == 0) mark.stack = table.stack[row];
  }
  if (*mark.count == 0 || view.step == kNone) return std::nullopt;
  mark.text = fmt::format("The first update makes {} optimizer states: {}", *mark.count, FormatBytes(mark.bytes));
  return mark;
}

std::optional<Mark> FindForeachTemporaries(const HeapAnalysis& analysis, const StepView& view) {
  if (view.optimizer_begin == kNone) return std::nullopt;
  const OptimizerTemporaries temporaries = CollectTemporaries(analysis, view);
  if (temporaries.group_count < kFewestOfGroup) return std::nullopt;
  return Mark{MarkKind::kForeachTemporaries,
              view.step,
              view.optimizer_begin,
              view.optimizer_end,
              temporaries.largest_group_bytes,
              temporaries.group_count,
              fmt::format("Temporaries of the update for all parameters at once: {}",
                          FormatBytes(temporaries.largest_group_bytes)),
              {0}};
}

std::optional<Mark> FindOptimizerFlagpole(const HeapAnalysis& analysis, const StepView& view) {
  if (view.optimizer_begin == kNone) return std::nullopt;
  const OptimizerTemporaries temporaries = CollectTemporaries(analysis, view);
  const HighestTemporaries highest = FindHighest(temporaries, view);
  if (temporaries.group_count < kFewestOfGroup) return std::nullopt;
  const uint64_t above = highest.bytes - temporaries.largest_group_bytes;
  if (highest.bytes > temporaries.largest_group_bytes && above >= highest.bytes / 100) {
    return Mark{MarkKind::kOptimizerFlagpole,
                view.step,
                highest.seq,
                highest.seq + 1,
                above,
                std::nullopt,
                fmt::format("Temporaries of single tensors on top of the others: {}", FormatBytes(above)),
                {0}};
  }
  return FindTip(analysis, view, highest);
}

}  // namespace memstrata
