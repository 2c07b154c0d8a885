#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/marks/step_marks.h"
#include "base/units.h"

namespace memstrata {
namespace {

bool IsLogitsSized(const StepView& view, uint64_t size_bytes) {
  return view.logits_bytes > 0 && (size_bytes == view.logits_bytes || size_bytes * 2 == view.logits_bytes);
}

bool MadeInForward(const AllocationTable& table, const StepView& view, uint32_t row) {
  return table.alloc_seq[row] >= view.forward_begin && table.alloc_seq[row] < view.forward_end;
}

/// Blocks of one size.
struct SizeGroup {
  uint32_t count = 0;
  StackId stack{0};
};

// What the forward leaves for the backward, by size, without what belongs to the loss.
std::map<uint64_t, SizeGroup> SavedBySize(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  std::map<uint64_t, SizeGroup> groups;
  for (const uint32_t row : view.made) {
    const bool is_saved = MadeInForward(table, view, row) && analysis.CategoryOf(row) == Category::kActivation &&
                          table.free_requested_seq[row] >= view.backward_begin;
    if (!is_saved || IsLogitsSized(view, table.size_bytes[row])) continue;
    SizeGroup& group = groups[table.size_bytes[row]];
    if (group.count++ == 0) group.stack = table.stack[row];
  }
  return groups;
}

}  // namespace

std::optional<Mark> FindForwardRamp(const HeapAnalysis& analysis, const StepView& view) {
  const std::map<uint64_t, SizeGroup> groups = SavedBySize(analysis, view);
  uint64_t all_bytes = 0;
  const std::pair<const uint64_t, SizeGroup>* largest = nullptr;
  for (const auto& group : groups) {
    all_bytes += group.first * group.second.count;
    if (largest == nullptr || group.first * group.second.count > largest->first * largest->second.count)
      largest = &group;
  }
  if (largest == nullptr) return std::nullopt;
  Mark mark{MarkKind::kForwardRamp, view.step, view.forward_begin,   view.forward_end, all_bytes,
            std::nullopt,           "",        largest->second.stack};
  const bool is_checkpointed =
      std::any_of(analysis.timeline.phases.begin(), analysis.timeline.phases.end(),
                  [&](const PhaseSpan& span) { return span.step == view.step && span.phase == Phase::kRecompute; });
  if (is_checkpointed && largest->second.count > 1) {
    mark.bytes = largest->first * largest->second.count;
    mark.count = largest->second.count;
    mark.text = fmt::format("Saved inputs of checkpointed layers and the head: {} x {} = {}", *mark.count,
                            FormatBytes(largest->first), FormatBytes(mark.bytes));
  } else {
    mark.text = fmt::format("Activations saved for the backward: {}", FormatBytes(mark.bytes));
  }
  return mark;
}

std::optional<Mark> FindAutocastCopies(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  Mark mark{MarkKind::kAutocastCopies, view.step, kNone, 0, 0, 0, "", {0}};
  for (const uint32_t row : view.made) {
    if (analysis.CategoryOf(row) != Category::kAutocastCopy || !MadeInForward(table, view, row)) continue;
    mark.begin_seq = std::min(mark.begin_seq, table.alloc_seq[row]);
    mark.end_seq = std::max(mark.end_seq, table.free_requested_seq[row] + 1);
    mark.bytes += table.size_bytes[row];  // all live until autocast ends
    mark.count = *mark.count + 1;
    if (mark.stack.value == 0) mark.stack = table.stack[row];
  }
  if (*mark.count == 0) return std::nullopt;
  mark.text =
      fmt::format("Low-precision copies of {}: {}", FormatCount(*mark.count, "weight"), FormatBytes(mark.bytes));
  return mark;
}

std::optional<Mark> FindLogitsSlab(const HeapAnalysis& analysis, const StepView& view) {
  if (view.logits_bytes == 0) return std::nullopt;
  const AllocationTable& table = analysis.store->allocations;
  Mark mark{MarkKind::kLogitsSlab, view.step, kNone, 0, view.logits_bytes, 0, "", {0}};
  uint64_t all_bytes = 0;
  for (const uint32_t row : view.made) {
    if (!MadeInForward(table, view, row) || analysis.CategoryOf(row) != Category::kLogits) continue;
    mark.begin_seq = std::min(mark.begin_seq, table.alloc_seq[row]);
    mark.end_seq = std::max(mark.end_seq, table.alloc_seq[row] + 1);
    mark.count = *mark.count + 1;
    all_bytes += table.size_bytes[row];
    if (table.size_bytes[row] == view.logits_bytes) mark.stack = table.stack[row];
  }
  if (*mark.count == 0) return std::nullopt;
  mark.text = fmt::format("Logits: {}, the largest {}, together {}", FormatCount(*mark.count, "block"),
                          FormatBytes(mark.bytes), FormatBytes(all_bytes));
  return mark;
}

}  // namespace memstrata
