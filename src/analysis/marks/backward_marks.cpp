#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "analysis/category/parameter_sizes.h"
#include "analysis/marks/steep_fall.h"
#include "analysis/marks/step_marks.h"
#include "base/units.h"

namespace memstrata {
namespace {

bool MadeInBackward(const AllocationTable& table, const StepView& view, uint32_t row) {
  return table.alloc_seq[row] >= view.backward_begin && table.alloc_seq[row] < view.backward_end;
}

std::vector<uint32_t> GradientsOf(const HeapAnalysis& analysis, const StepView& view) {
  std::vector<uint32_t> gradients;
  for (const uint32_t row : view.made) {
    if (MadeInBackward(analysis.store->allocations, view, row) && analysis.CategoryOf(row) == Category::kGradient)
      gradients.push_back(row);
  }
  return gradients;
}

// An input, or a tensor in between that the program keeps, has a gradient too. Such are of sizes that no parameter has;
// where more than a small part is, the gradients are of another type than the parameters, or sharded otherwise.
std::vector<uint32_t> OfParameters(const HeapAnalysis& analysis, std::vector<uint32_t> gradients) {
  constexpr uint64_t kSmallShare = 8;
  const Store& store = *analysis.store;
  const auto parameters = CountParameterSizes(store, *analysis.heap, analysis.categories);
  uint64_t bytes = 0;
  uint64_t other_bytes = 0;
  const auto is_other = [&](uint32_t row) { return !parameters.contains(store.allocations.size_bytes[row]); };
  for (const uint32_t row : gradients) {
    bytes += store.allocations.size_bytes[row];
    if (is_other(row)) other_bytes += store.allocations.size_bytes[row];
  }
  if (other_bytes * kSmallShare <= bytes) std::erase_if(gradients, is_other);
  return gradients;
}

uint64_t LargestParameterBytes(const HeapAnalysis& analysis) {
  uint64_t largest = 0;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (analysis.CategoryOf(row) == Category::kParameter)
      largest = std::max(largest, analysis.store->allocations.size_bytes[row]);
  }
  return largest;
}

// Hooks update each parameter as soon as its gradient is there. Models that are trained in turns have a forward each.
bool UpdatesInBackward(const StepView& view) { return view.update_in_backward_count > 1; }

// The gradient of a tensor in between is gone before the update; that of a parameter waits for it. An update in the
// backward itself leaves no such difference.
bool WaitsForUpdate(const AllocationTable& table, const StepView& view, uint32_t row) {
  const bool is_update_later = view.optimizer_begin != kNone && view.optimizer_begin >= view.backward_end;
  return !is_update_later || table.free_requested_seq[row] >= view.optimizer_begin;
}

struct Together {
  uint32_t count = 0;  // the most that live at one moment
  uint64_t bytes = 0;  // the most bytes that do
};

// rows: in the order of their allocation
Together MostTogether(const AllocationTable& table, const std::vector<uint32_t>& rows) {
  using End = std::pair<uint32_t, uint64_t>;  // when a block that lives is given back, and its bytes
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Together most;
  uint64_t bytes = 0;
  for (const uint32_t row : rows) {
    for (; !ends.empty() && ends.top().first < table.alloc_seq[row]; ends.pop()) bytes -= ends.top().second;
    ends.emplace(table.free_requested_seq[row], table.size_bytes[row]);
    bytes += table.size_bytes[row];
    most.count = std::max(most.count, static_cast<uint32_t>(ends.size()));
    most.bytes = std::max(most.bytes, bytes);
  }
  return most;
}

// The gradient of the largest parameter when it is among the first (the head's) or the last (the embedding's) that the
// backward makes, in a model that has logits. Where that parameter is frozen there is none.
std::optional<Mark> FindVocabularyGradient(const HeapAnalysis& analysis, const StepView& view, bool is_head) {
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<uint32_t> gradients = GradientsOf(analysis, view);
  if (gradients.size() < 4 || view.logits_bytes == 0) return std::nullopt;
  const uint64_t largest = LargestParameterBytes(analysis);
  const size_t edge = std::max<size_t>(1, gradients.size() / 10);
  for (size_t i = 0; i < edge; ++i) {
    const uint32_t row = is_head ? gradients[i] : gradients[gradients.size() - 1 - i];
    if (table.size_bytes[row] != largest || !WaitsForUpdate(table, view, row)) continue;
    const uint32_t end =
        table.free_requested_seq[row] == kNone ? analysis.heap->events.size() : table.free_requested_seq[row] + 1;
    return Mark{is_head ? MarkKind::kHeadGradient : MarkKind::kEmbeddingGradient,
                view.step,
                table.alloc_seq[row],
                end,
                largest,
                1,
                fmt::format("Gradient of the {}: {}", is_head ? "head" : "embedding", FormatBytes(largest)),
                table.stack[row]};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Mark> FindBackwardStartSpike(const HeapAnalysis& analysis, const StepView& view) {
  if (view.logits_bytes == 0) return std::nullopt;
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t early = view.backward_begin + (view.backward_end - view.backward_begin) / 20 + 8;
  std::vector<uint32_t> rows;
  for (const uint32_t row : view.made) {
    const bool is_of_loss = MadeInBackward(table, view, row) && table.alloc_seq[row] < early &&
                            table.size_bytes[row] == view.logits_bytes && analysis.CategoryOf(row) == Category::kLogits;
    if (is_of_loss) rows.push_back(row);
  }
  if (rows.empty()) return std::nullopt;
  const uint32_t most = MostTogether(table, rows).count;
  Mark mark{MarkKind::kBackwardStartSpike,
            view.step,
            table.alloc_seq[rows.front()],
            table.alloc_seq[rows.back()] + 1,
            most * view.logits_bytes,
            most,
            "",
            {0}};
  mark.text = fmt::format("Gradients of the loss, logits-sized: {} x {}", most, FormatBytes(view.logits_bytes));
  return mark;
}

std::optional<Mark> FindBackwardCliff(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  Mark mark{MarkKind::kBackwardCliff, view.step, kNone, 0, 0, std::nullopt, "", {0}};
  for (const uint32_t row : view.made) {
    const uint32_t end = table.free_requested_seq[row];
    const bool falls = table.alloc_seq[row] < view.backward_begin && end >= view.backward_begin &&
                       end < view.backward_end && analysis.CategoryOf(row) == Category::kActivation;
    if (!falls) continue;
    mark.begin_seq = std::min(mark.begin_seq, end);
    mark.end_seq = std::max(mark.end_seq, end + 1);
    mark.bytes += table.size_bytes[row];
  }
  if (mark.bytes == 0) return std::nullopt;
  mark.fall = FindSteepFall(analysis, mark.begin_seq, mark.end_seq);
  mark.text =
      fmt::format("The backward gives back {} of activations; live memory falls by {} in {}", FormatBytes(mark.bytes),
                  FormatBytes(mark.fall.bytes), FormatCount(mark.fall.end_seq - mark.fall.begin_seq, "event"));
  return mark;
}

std::optional<Mark> FindHeadGradient(const HeapAnalysis& analysis, const StepView& view) {
  return FindVocabularyGradient(analysis, view, true);
}
std::optional<Mark> FindEmbeddingGradient(const HeapAnalysis& analysis, const StepView& view) {
  return FindVocabularyGradient(analysis, view, false);
}

std::optional<Mark> FindGradientRamp(const HeapAnalysis& analysis, const StepView& view) {
  const std::vector<uint32_t> gradients =
      OfOneRepeat(view, OfParameters(analysis, GradientsOf(analysis, view)), analysis.store->allocations.alloc_seq,
                  analysis.store->allocations.size_bytes);
  if (gradients.empty()) return std::nullopt;
  Mark mark{MarkKind::kGradientRamp,
            view.step,
            view.backward_begin,
            view.backward_end,
            0,
            static_cast<uint32_t>(gradients.size()),
            "",
            {0}};
  for (const uint32_t row : gradients) mark.bytes += analysis.store->allocations.size_bytes[row];
  mark.text =
      fmt::format("The backward makes {}: {}", FormatCount(gradients.size(), "gradient"), FormatBytes(mark.bytes));
  if (!UpdatesInBackward(view)) return mark;
  mark.bytes = MostTogether(analysis.store->allocations, gradients).bytes;
  mark.text += fmt::format(" in all, {} at a time: the update runs in the backward and gives each back",
                           FormatBytes(mark.bytes));
  return mark;
}

// A ripple rises while a function runs again and in the backward of it, up to the next one or the end of the backward;
// gradients that the last of them makes for others are no part of it, so that the one in the middle stands for all.
std::optional<Mark> FindRecomputeRipple(const HeapAnalysis& analysis, const StepView& view) {
  std::vector<uint64_t> rises;
  uint32_t begin = kNone;  // of the ripple
  uint32_t end = 0;
  const auto finish = [&] {
    if (begin != kNone) rises.push_back(analysis.HighestIn(begin, end).bytes - analysis.live.At(Moment{begin}));
    begin = kNone;
  };
  for (const PhaseSpan& span : analysis.timeline.phases) {
    if (span.step != view.step) continue;
    if (span.phase == Phase::kRecompute) {
      finish();
      begin = span.begin_seq;
    } else if (span.phase != Phase::kBackward) {
      finish();
    }
    end = span.end_seq;
  }
  finish();
  if (rises.empty()) return std::nullopt;
  std::nth_element(rises.begin(), rises.begin() + static_cast<ptrdiff_t>(rises.size() / 2), rises.end());
  const uint64_t middle = rises[rises.size() / 2];
  return Mark{MarkKind::kRecomputeRipple,
              view.step,
              view.backward_begin,
              view.backward_end,
              middle,
              static_cast<uint32_t>(rises.size()),
              fmt::format("{} again, one ripple each, {} at its highest",
                          rises.size() == 1 ? "1 checkpointed call runs"
                                            : fmt::format("{} checkpointed calls run", rises.size()),
                          FormatBytes(middle)),
              {0}};
}

}  // namespace memstrata
