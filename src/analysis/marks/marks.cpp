#include "analysis/marks/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/marks/step_marks.h"
#include "base/units.h"

namespace memstrata {
namespace {

// One after the last event of a step that is a part of it: what follows is the end of the program.
uint32_t LastWorkOf(const HeapAnalysis& analysis, const StepSpan& step) {
  uint32_t end = step.end_seq;
  while (end > step.begin_seq && analysis.timeline.phase_of_event[end - 1] == Phase::kOther) --end;
  return end;
}

// Blocks of one category that stay from when the last of them came: to the end of the recording, or of the last step
// where the program gives them back after it. What the last step makes has not stayed yet.
std::optional<Mark> FindConstantBand(const HeapAnalysis& analysis, Category category) {
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t count = analysis.heap->events.size();
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  const bool has_steps = steps.size() > 1;
  const uint32_t last_begin = has_steps ? steps.back().begin_seq : count;
  const uint32_t last_end = has_steps ? LastWorkOf(analysis, steps.back()) : count;
  Mark mark{MarkKind::kConstantBand, kNone, 0, last_end, 0, 0, "", {0}};
  uint64_t largest = 0;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const bool ends = table.free_requested_seq[row] != kNone && table.free_requested_seq[row] < last_end;
    const bool is_new = table.alloc_seq[row] != kNone && table.alloc_seq[row] >= last_begin;
    if (analysis.CategoryOf(row) != category || ends || is_new) continue;
    if (table.alloc_seq[row] != kNone) mark.begin_seq = std::max(mark.begin_seq, table.alloc_seq[row] + 1);
    mark.bytes += table.size_bytes[row];
    mark.count = *mark.count + 1;
    if (table.size_bytes[row] <= largest) continue;
    largest = table.size_bytes[row];
    mark.stack = table.stack[row];
  }
  const bool is_much = mark.bytes * 100 >= analysis.peak.bytes;
  if (!is_much || mark.begin_seq >= last_end) return std::nullopt;
  mark.text =
      fmt::format("{}: {} in {}", CategoryWords(category), FormatBytes(mark.bytes), FormatCount(*mark.count, "block"));
  return mark;
}

using StepMarkFinder = std::optional<Mark> (*)(const HeapAnalysis&, const StepView&);
constexpr StepMarkFinder kStepMarkFinders[] = {
    FindZeroGradSlope, FindForwardRamp,        FindAutocastCopies,     FindAttentionSoftmax,   FindLossSoftmax,
    FindLogitsSlab,    FindBackwardStartSpike, FindBackwardCliff,      FindHeadGradient,       FindEmbeddingGradient,
    FindGradientRamp,  FindRecomputeRipple,    FindOptimizerStateInit, FindForeachTemporaries, FindOptimizerFlagpole,
};

std::optional<Mark> FindGrowthMark(const HeapAnalysis& analysis) {
  const Growth& growth = analysis.growth;
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  if (growth.step_count < 3) return std::nullopt;
  const uint32_t first = growth.begin_step.value_or(1);
  const auto bytes = static_cast<uint64_t>(std::max<int64_t>(0, growth.bytes_per_step.value_or(0)));
  Mark mark{MarkKind::kFlat,
            kNone,
            steps[first].begin_seq,
            steps.back().end_seq,
            bytes,
            std::nullopt,
            "",
            growth.holder_stack.value_or(StackId{0})};
  switch (growth.kind) {
    case GrowthKind::kLeak:
      mark.kind = MarkKind::kGrowth;
      mark.count = growth.step_count - first;
      mark.text = growth.EachStepRises() && growth.are_rises_alike
                      ? fmt::format("Each step leaves {} more", FormatBytes(bytes))
                      : fmt::format("Steps leave {} more each on average", FormatBytes(bytes));
      return mark;
    case GrowthKind::kSawtooth:
      mark.kind = MarkKind::kSawtooth;
      mark.bytes = growth.tooth_bytes.value_or(0);
      mark.count = growth.tooth_count;
      mark.text = fmt::format("Grows by {} a step and falls back", FormatBytes(bytes));
      return mark;
    case GrowthKind::kOneOff:
    case GrowthKind::kWarmUp:
      mark.kind = MarkKind::kOneOffStep;
      mark.step = first;
      mark.end_seq = steps[growth.last_rising_step].end_seq;
      mark.text = growth.rising_step_count == 1 ? fmt::format("Step {} leaves {} that stays", first, FormatBytes(bytes))
                                                : fmt::format("Steps {} to {} leave {} that stays", first,
                                                              growth.last_rising_step, FormatBytes(bytes));
      return mark;
    case GrowthKind::kNoGrowth:
      if (growth.is_generation) {
        if (bytes == 0) break;
        mark.kind = MarkKind::kCacheGrowth;
        mark.count = growth.step_count;
        mark.text = fmt::format("The cache grows by {} a step", FormatBytes(bytes));
        return mark;
      }
      mark.bytes = growth.level_bytes[first];
      mark.count = growth.step_count - first;
      mark.text = fmt::format("Every step starts from {}", FormatBytes(mark.bytes));
      return mark;
    case GrowthKind::kFragmentation:
      mark.kind = MarkKind::kPoolGrowth;
      mark.bytes = growth.reserved_growth_bytes;
      mark.count = growth.step_count - first;
      mark.text = fmt::format("Reserved memory grows by {}, live memory does not", FormatBytes(mark.bytes));
      return mark;
    case GrowthKind::kUnknown:
      break;
  }
  return std::nullopt;
}

// Ranges of PyTorch's own, of which phases and steps tell.
bool IsOfFramework(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"Optimizer.",
                                            "ProfilerStep#",
                                            "FSDP::",
                                            "DistributedDataParallel.",
                                            "nccl:",
                                            "c10d::",
                                            "aten::",
                                            "Torch-Compiled Region",
                                            "## Call CompiledFxGraph"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The program's own annotations of the representative step, or of the whole recording where there is none: of each name
// the highest, with how many there are. A range in which memory does not rise has no shape.
void AddAnnotations(const HeapAnalysis& analysis, const StepView& view, std::vector<Mark>& marks) {
  constexpr size_t kMost = 50;
  const SpanTable& spans = analysis.store->spans;
  const StepSpan range = view.step == kNone ? StepSpan{0, analysis.heap->events.size(), false} : view.span;
  const auto heap = static_cast<uint32_t>(analysis.heap - analysis.store->heaps.data());
  std::vector<Mark> found;
  for (uint32_t row = 0; row < spans.size(); ++row) {
    const uint32_t begin = spans.begin_seq[row];
    const uint32_t end = spans.end_seq[row];
    const bool is_here = spans.kind[row] == SpanKind::kAnnotation && spans.heap[row] == heap && begin != kNone &&
                         end != kNone && begin >= range.begin_seq && end <= range.end_seq && begin < end;
    if (!is_here) continue;
    const std::string name(analysis.store->String(spans.name[row]));
    if (IsOfFramework(name)) continue;
    const uint64_t rise = analysis.HighestIn(begin, end).bytes - analysis.live.At(Moment{begin});
    const auto same = std::find_if(found.begin(), found.end(), [&](const Mark& mark) { return mark.text == name; });
    if (same == found.end()) {
      if (found.size() < kMost) found.push_back({MarkKind::kAnnotation, view.step, begin, end, rise, 1, name, {0}});
      continue;
    }
    same->count = *same->count + 1;
    if (rise > same->bytes) std::tie(same->begin_seq, same->end_seq, same->bytes) = std::tuple(begin, end, rise);
  }
  for (Mark& mark : found) {
    if (mark.bytes == 0) continue;
    mark.text = *mark.count == 1
                    ? fmt::format("{}: rises by {}", mark.text, FormatBytes(mark.bytes))
                    : fmt::format("{}: {} times, rises by up to {}", mark.text, *mark.count, FormatBytes(mark.bytes));
    marks.push_back(std::move(mark));
  }
}

}  // namespace

std::string BandLabel(const Band& band) {
  return fmt::format("{} {}", CategoryWords(band.category), FormatBytes(band.at_peak_bytes));
}

std::string_view MarkReading(MarkKind kind) {
  switch (kind) {
    case MarkKind::kConstantBand:
      return "A band of constant height is what every step needs before it begins.";
    case MarkKind::kForwardRamp:
      return "The ramp is what the forward keeps for the backward; checkpointing and smaller batches lower it.";
    case MarkKind::kAutocastCopies:
      return "Autocast keeps a low-precision copy of each weight until its region ends.";
    case MarkKind::kSoftmaxSpike:
      return "A narrow spike is the input and the result of a softmax, alive together; a fused attention or loss does "
             "not "
             "make it.";
    case MarkKind::kLogitsSlab:
      return "A slab at the end of the forward is the scores of the loss, of a language model tokens times vocabulary; "
             "a loss fused with the head avoids it.";
    case MarkKind::kZeroGradSlope:
      return "The slope down is zero_grad freeing gradients that an update has used.";
    case MarkKind::kBackwardStartSpike:
      return "The backward of the loss makes blocks of the size of the logits again, often the peak.";
    case MarkKind::kBackwardCliff:
      return "The fall is the backward giving back what the forward had kept.";
    case MarkKind::kHeadGradient:
      return "The first large step up in the backward is the gradient of the head.";
    case MarkKind::kEmbeddingGradient:
      return "The last large step up in the backward is the gradient of the embedding.";
    case MarkKind::kGradientRamp:
      return "Gradients rise during the backward as activations fall.";
    case MarkKind::kRecomputeRipple:
      return "Each ripple is one checkpointed call that runs again and is given back.";
    case MarkKind::kOptimizerStateInit:
      return "The first update allocates the state of the optimizer, which stays.";
    case MarkKind::kForeachTemporaries:
      return "The band in the update is temporaries for all parameters at once; a fused optimizer does not make it.";
    case MarkKind::kOptimizerFlagpole:
      return "The thin top is the temporaries of the last operations of the update.";
    case MarkKind::kGrowth:
      return "A staircase is memory that each step leaves behind.";
    case MarkKind::kCacheGrowth:
      return "A low staircase is the cache of a generation, which each token makes longer.";
    case MarkKind::kSawtooth:
      return "A sawtooth is memory that a collector frees late.";
    case MarkKind::kOneOffStep:
      return "One stair and then none: something was kept once.";
    case MarkKind::kPoolGrowth:
      return "A reserved line that climbs over a level curve is free memory in pieces that fit no request.";
    case MarkKind::kAnnotation:
      return "The program itself named this part; the bytes are by how much memory rises in it.";
    case MarkKind::kFlat:
      return "Steps that start from the same level leave nothing behind.";
  }
  return "";
}

Marks FindMarks(const HeapAnalysis& analysis) {
  Marks result;
  for (const Category category : {Category::kParameter, Category::kOptimizerState, Category::kGradient,
                                  Category::kKvCache, Category::kWorkspace}) {
    if (auto mark = FindConstantBand(analysis, category)) result.marks.push_back(std::move(*mark));
  }
  const StepView view = FindRepresentativeStep(analysis);
  result.step = view.step;
  const size_t first = result.marks.size();
  if (view.step != kNone) {
    for (const StepMarkFinder find : kStepMarkFinders) {
      if (auto mark = find(analysis, view)) result.marks.push_back(std::move(*mark));
    }
  } else if (const StepView inference = FindStepOfInference(analysis); inference.step != kNone) {
    if (auto mark = FindAttentionSoftmax(analysis, inference)) result.marks.push_back(std::move(*mark));
  }
  std::stable_sort(result.marks.begin() + static_cast<ptrdiff_t>(first), result.marks.end(),
                   [](const Mark& a, const Mark& b) { return a.begin_seq < b.begin_seq; });
  for (size_t i = first; i < result.marks.size(); ++i) {
    if (result.marks[i].step == view.step) result.anatomy.push_back(static_cast<uint32_t>(i));
  }
  if (auto mark = FindGrowthMark(analysis)) result.marks.push_back(std::move(*mark));
  AddAnnotations(analysis, view, result.marks);
  return result;
}

}  // namespace memstrata
