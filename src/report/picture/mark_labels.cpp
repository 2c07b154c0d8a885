#include "report/picture/mark_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

std::string Counted(const Mark& mark, std::string_view what) {
  return fmt::format("{} {}", FormatCount(mark.count.value_or(0)), what);
}

std::string SizeOfEach(const Mark& mark) {
  const uint32_t count = mark.count.value_or(0);
  return count == 0 ? "" : fmt::format("{} each", FormatBytes(mark.bytes / count));
}

struct Wording {
  std::string title;
  std::string detail;
  int rank = 0;
};

// Words of marks that belong to one step.
Wording WordsOfStepMark(const Mark& mark) {
  const std::string bytes = FormatBytes(mark.bytes);
  switch (mark.kind) {
    case MarkKind::kForwardRamp:
      return {"Forward ramp: " + bytes,
              mark.count ? Counted(mark, "saved layer inputs, ") + SizeOfEach(mark) : "kept for the backward", 2};
    case MarkKind::kAutocastCopies:
      return {"Low-precision weights: " + bytes, Counted(mark, "copies by autocast"), 5};
    case MarkKind::kSoftmaxSpike:
      return {"Spike: " + bytes, "temporaries of one operator", 6};
    case MarkKind::kLogitsSlab:
      return {"Logits: " + bytes,
              mark.count.value_or(1) > 1 ? fmt::format("the largest of {} such blocks", *mark.count)
                                         : "tokens x vocabulary numbers",
              1};
    case MarkKind::kZeroGradSlope:
      return {"zero_grad: \u2212" + bytes, "frees " + Counted(mark, "gradients"), 2};
    case MarkKind::kBackwardStartSpike:
      return {"Gradients of the logits: " + bytes, Counted(mark, "as large as the logits"), 3};
    case MarkKind::kBackwardCliff:
      return {"Cliff: \u2212" + bytes, "activations are given back", 6};
    case MarkKind::kHeadGradient:
      return {"Gradient of the head: " + bytes, "the first of the backward", 5};
    case MarkKind::kEmbeddingGradient:
      return {"Gradient of the embedding: " + bytes, "the last of the backward", 4};
    case MarkKind::kGradientRamp:
      return {"Gradients rise: " + bytes, Counted(mark, "tensors"), 7};
    case MarkKind::kRecomputeRipple:
      return {fmt::format("{} ripples: {}", FormatCount(mark.count.value_or(0)), bytes), "one a recomputed call", 3};
    case MarkKind::kOptimizerStateInit:
      return {"Optimizer state: " + bytes, "made by the first update", 3};
    case MarkKind::kForeachTemporaries:
      return {"Update temporaries: " + bytes, "for all parameters at once", 3};
    case MarkKind::kOptimizerFlagpole:
      return {"Flagpole: " + bytes, "the last temporary of the update", 8};
    default:
      return {};
  }
}

Wording WordsOfGrowth(const Mark& mark) {
  switch (mark.kind) {
    case MarkKind::kGrowth:
      return {fmt::format("+{} a step", FormatBytes(mark.bytes)), "that nothing gives back", 0};
    case MarkKind::kSawtooth:
      return {fmt::format("Sawtooth: {} a step", FormatBytes(mark.bytes)), "a collector frees it late", 0};
    case MarkKind::kOneOffStep:
      return {"One stair: " + FormatBytes(mark.bytes), "later steps add nothing", 1};
    default:
      return {};
  }
}

uint32_t HighestMoment(const HeapExplained& heap, uint32_t begin_seq, uint32_t end_seq) {
  const Peak highest = heap.analysis.HighestIn(begin_seq, end_seq);
  return highest.moment.seq() == kNone ? begin_seq : highest.moment.seq();
}

// All copies are there when the last of them has been made.
uint32_t LastCopy(const HeapExplained& heap, const Mark& mark) {
  const EventTable& events = heap.analysis.store->events;
  for (uint32_t seq = mark.end_seq; seq-- > mark.begin_seq;) {
    const uint32_t row = heap.analysis.heap->events.begin + seq;
    const bool is_copy = events.kind[row] == EventKind::kAlloc && events.allocation[row] != kNone &&
                         heap.analysis.CategoryOf(events.allocation[row]) == Category::kAutocastCopy;
    if (is_copy) return seq;
  }
  return mark.begin_seq;
}

// Growth is seen where steps begin: the beginning of a step in the second half.
uint32_t StepBeginAfter(const HeapExplained& heap, uint32_t seq) {
  for (const StepExplained& step : heap.steps) {
    if (step.span.begin_seq >= seq) return step.span.begin_seq;
  }
  return seq;
}

// Slopes are pointed at where they are, tops where they are highest. What happens all along the backward has places of
// its own there: it falls from its beginning, ripples in its middle, and gradients are many near its end.
uint32_t PlaceOf(const HeapExplained& heap, const Mark& mark) {
  const uint32_t length = mark.end_seq - mark.begin_seq;
  const uint32_t middle = mark.begin_seq + length / 2;
  switch (mark.kind) {
    case MarkKind::kForwardRamp:
    case MarkKind::kZeroGradSlope:
    case MarkKind::kOptimizerStateInit:
      return middle;
    case MarkKind::kBackwardCliff:
      return mark.begin_seq + length / 8;
    case MarkKind::kRecomputeRipple:
      return HighestMoment(heap, middle, middle + std::max(1U, length / std::max(1U, mark.count.value_or(1))));
    case MarkKind::kGradientRamp:
      return mark.end_seq - length / 4;
    case MarkKind::kGrowth:
      return StepBeginAfter(heap, middle);
    case MarkKind::kAutocastCopies:
      return LastCopy(heap, mark);
    case MarkKind::kHeadGradient:
    case MarkKind::kEmbeddingGradient:
    case MarkKind::kOneOffStep:
      return mark.begin_seq;
    default:
      return HighestMoment(heap, mark.begin_seq, mark.end_seq);
  }
}

// Within one per cent.
bool IsAbout(uint64_t bytes, uint64_t expected_bytes) {
  return std::max(bytes, expected_bytes) - std::min(bytes, expected_bytes) <= expected_bytes / 100;
}

// The event near `place` in the phase of `seq` at which about as much is live; kNone where there is none.
uint32_t FindAlike(const HeapExplained& heap, uint32_t place, uint32_t seq) {
  constexpr uint32_t kFarthest = 40;  // frees may come in another order
  const Timeline& timeline = heap.analysis.timeline;
  const uint64_t bytes = heap.analysis.live.At(Moment::AfterEvent(seq));
  for (uint32_t distance = 0; distance <= kFarthest; ++distance) {
    for (const uint32_t other : {place + distance, place - std::min(place, distance)}) {
      if (other >= heap.analysis.heap->events.size()) continue;
      const bool is_same_phase = timeline.phase_of_event[other] == timeline.phase_of_event[seq];
      if (is_same_phase && IsAbout(heap.analysis.live.At(Moment::AfterEvent(other)), bytes)) return other;
    }
  }
  return kNone;
}

// The event itself, and the same moments of other steps that are about as high as its own.
std::vector<uint32_t> AlikePlaces(const HeapExplained& heap, uint32_t seq) {
  std::vector<uint32_t> places = {seq};
  const uint32_t own = heap.analysis.timeline.step_of_event[seq];
  if (own == kNone) return places;
  const StepExplained& step = heap.steps[own];
  for (const StepExplained& other : heap.steps) {
    const bool is_alike =
        other.span.begin_seq != step.span.begin_seq && IsAbout(other.peak_live_bytes, step.peak_live_bytes);
    if (!is_alike) continue;
    const uint32_t place = FindAlike(heap, other.span.begin_seq + (seq - step.span.begin_seq), seq);
    if (place != kNone && place >= other.span.begin_seq && place < other.span.end_seq) places.push_back(place);
  }
  return places;
}

MarkLabel PeakLabel(const HeapExplained& heap, uint32_t seq) {
  const Phase phase = heap.analysis.timeline.phase_of_event[seq];
  std::string detail = phase == Phase::kOther ? "" : fmt::format("in {}", kPhaseNames[static_cast<size_t>(phase)]);
  if (!heap.bands.empty()) {
    const Band& maker = MakerOfThePeak(heap.bands, heap.analysis.peak.bytes);
    detail += fmt::format("{}{} {} {} of it", detail.empty() ? "" : "; ", CategoryWords(maker.category),
                          HoldOrHolds(maker.category), FormatBytes(maker.at_peak_bytes));
  }
  return {{seq}, fmt::format("Peak {}", FormatBytes(heap.analysis.peak.bytes)), std::move(detail), 0};
}

void AddFailures(const HeapExplained& heap, std::vector<MarkLabel>& labels) {
  const EventTable& events = heap.analysis.store->events;
  const Heap& of_store = *heap.analysis.heap;
  for (uint32_t seq = of_store.events.size(); seq-- > 0;) {
    const uint32_t row = of_store.events.begin + seq;
    if (events.kind[row] != EventKind::kOutOfMemory) continue;
    const Phase phase = heap.analysis.timeline.phase_of_event[seq];
    labels.push_back({{seq},
                      "Out of memory: " + FormatBytes(events.size_bytes[row]) + " asked",
                      fmt::format("in {}, live {}", kPhaseNames[static_cast<size_t>(phase)],
                                  FormatBytes(heap.analysis.live.At(Moment{seq}))),
                      0,
                      true});
    return;  // the last one ends the run
  }
}

}  // namespace

std::vector<MarkLabel> LabelsOf(const HeapExplained& heap, uint32_t begin_seq, uint32_t end_seq) {
  std::vector<MarkLabel> labels;
  const uint32_t peak_seq = heap.analysis.peak.moment.seq();
  if (peak_seq != kNone) labels.push_back(PeakLabel(heap, peak_seq));
  AddFailures(heap, labels);
  std::vector<uint32_t> told = heap.marks.anatomy;
  for (uint32_t i = 0; i < heap.marks.marks.size(); ++i) {
    const MarkKind kind = heap.marks.marks[i].kind;
    if (kind == MarkKind::kOptimizerStateInit && heap.marks.marks[i].step != heap.marks.step) told.push_back(i);
    Wording growth = WordsOfGrowth(heap.marks.marks[i]);
    if (growth.title.empty()) continue;
    labels.push_back({{PlaceOf(heap, heap.marks.marks[i])}, growth.title, growth.detail, growth.rank});
  }
  for (const uint32_t index : told) {
    const Mark& mark = heap.marks.marks[index];
    Wording words = WordsOfStepMark(mark);
    if (words.title.empty()) continue;
    if (mark.bytes * 100 < heap.analysis.peak.bytes) continue;
    labels.push_back(
        {AlikePlaces(heap, PlaceOf(heap, mark)), std::move(words.title), std::move(words.detail), words.rank});
  }
  for (MarkLabel& label : labels)
    std::erase_if(label.seqs, [&](uint32_t seq) { return seq < begin_seq || seq >= end_seq; });
  std::erase_if(labels, [](const MarkLabel& label) { return label.seqs.empty(); });
  return labels;
}

}  // namespace memstrata
