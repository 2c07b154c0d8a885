#include "query/mark_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/units.h"

namespace memstrata {
namespace {

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

// Within one per cent.
bool IsAbout(uint64_t bytes, uint64_t expected_bytes) {
  return std::max(bytes, expected_bytes) - std::min(bytes, expected_bytes) <= expected_bytes / 100;
}

// The event near the place of `seq` in another step, in the same phase, at which about as much is live, `left_bytes` of
// what steps between them left aside; kNone where there is none.
uint32_t FindAlike(const HeapExplained& heap, const StepSpan& step, uint32_t offset, uint32_t seq, int64_t left_bytes) {
  constexpr uint32_t kFarthest = 40;  // frees may come in another order
  const Timeline& timeline = heap.analysis.timeline;
  const uint32_t place = step.begin_seq + offset;
  const uint64_t bytes = heap.analysis.live.At(Moment::AfterEvent(seq)) + static_cast<uint64_t>(left_bytes);
  for (uint32_t distance = 0; distance <= kFarthest; ++distance) {
    for (const uint32_t other : {place + distance, place - std::min(place, distance)}) {
      if (other < step.begin_seq || other >= step.end_seq) continue;
      const bool is_same_phase = timeline.phase_of_event[other] == timeline.phase_of_event[seq];
      if (is_same_phase && IsAbout(heap.analysis.live.At(Moment::AfterEvent(other)), bytes)) return other;
    }
  }
  return kNone;
}

// The event itself, and the same moments of other steps that rise about as high as its own: what steps leave behind
// lifts later ones, and makes no other shape of them.
std::vector<uint32_t> AlikePlaces(const HeapExplained& heap, uint32_t seq) {
  std::vector<uint32_t> places = {seq};
  const uint32_t own = heap.analysis.timeline.step_of_event[seq];
  if (own == kNone) return places;
  const StepExplained& step = heap.steps[own];
  const auto level = [&](const StepExplained& of) {
    return static_cast<int64_t>(heap.analysis.live.At(Moment{of.span.begin_seq}));
  };
  for (const StepExplained& other : heap.steps) {
    if (other.span.begin_seq == step.span.begin_seq) continue;
    const int64_t left_bytes = level(other) - level(step);
    if (!IsAbout(other.peak_live_bytes, step.peak_live_bytes + static_cast<uint64_t>(left_bytes))) continue;
    const uint32_t place = FindAlike(heap, other.span, seq - step.span.begin_seq, seq, left_bytes);
    if (place != kNone) places.push_back(place);
  }
  return places;
}

MarkLabel PeakLabel(const HeapExplained& heap, uint32_t seq) {
  const Phase phase = heap.analysis.timeline.phase_of_event[seq];
  std::string detail = phase == Phase::kOther ? "" : fmt::format("in {}", kPhaseNames[static_cast<size_t>(phase)]);
  const std::string holders = heap.bands.empty() ? "" : HoldersOfThePeak(heap.bands, heap.analysis.peak.bytes);
  if (!detail.empty() && !holders.empty()) detail += "; ";
  detail += holders;
  const bool is_lower_bound = heap.analysis.heap->lower_bound != LowerBoundReason::kExact;
  MarkLabel label;
  label.seqs = {seq};
  label.title = fmt::format("Peak {}{}", is_lower_bound ? "at least " : "", FormatBytes(heap.analysis.peak.bytes));
  label.detail = std::move(detail);
  return label;
}

// The last request that failed: it ends the run.
std::optional<MarkLabel> FailureLabel(const HeapExplained& heap) {
  const EventTable& events = heap.analysis.store->events;
  const Heap& of_store = *heap.analysis.heap;
  for (uint32_t seq = of_store.events.size(); seq-- > 0;) {
    const uint32_t row = of_store.events.begin + seq;
    if (events.kind[row] != EventKind::kOutOfMemory) continue;
    const Phase phase = heap.analysis.timeline.phase_of_event[seq];
    MarkLabel label;
    label.seqs = {seq};
    label.title = "Out of memory: " + FormatBytes(events.size_bytes[row]) + " asked";
    label.detail = phase == Phase::kOther ? "" : fmt::format("in {}, ", kPhaseNames[static_cast<size_t>(phase)]);
    label.detail += "live " + FormatBytes(heap.analysis.live.At(Moment{seq}));
    label.is_alarm = true;
    return label;
  }
  return std::nullopt;
}

bool IsOfTheRun(MarkKind kind) {
  return kind == MarkKind::kGrowth || kind == MarkKind::kCacheGrowth || kind == MarkKind::kSawtooth ||
         kind == MarkKind::kOneOffStep || kind == MarkKind::kPoolGrowth || kind == MarkKind::kAnnotation;
}

// Named inside their bands, or in sentences; or too small beside the peak to be seen.
bool IsWorthALabel(const Mark& mark, uint64_t peak_bytes) {
  if (mark.kind == MarkKind::kConstantBand || mark.kind == MarkKind::kFlat) return false;
  return IsOfTheRun(mark.kind) || mark.bytes * 100 >= peak_bytes;
}

// The marks of the representative step, and the first of each kind that it lacks.
std::vector<uint32_t> ChooseMarks(const Marks& marks) {
  std::vector<uint32_t> chosen = marks.anatomy;
  std::set<MarkKind> told;
  for (const uint32_t index : chosen) told.insert(marks.marks[index].kind);
  for (uint32_t i = 0; i < marks.marks.size(); ++i) {
    if (told.insert(marks.marks[i].kind).second) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

// Slopes are pointed at where they are, tops where they are highest. What happens all along the backward has places of
// its own there: the cliff where it falls most, ripples in its middle, and gradients are many near its end.
uint32_t AnchorOf(const HeapExplained& heap, const Mark& mark) {
  const uint32_t length = mark.end_seq - mark.begin_seq;
  const uint32_t middle = mark.begin_seq + length / 2;
  switch (mark.kind) {
    case MarkKind::kForwardRamp:
    case MarkKind::kZeroGradSlope:
    case MarkKind::kOptimizerStateInit:
      return middle;
    case MarkKind::kBackwardCliff:
      return mark.fall.middle_seq;
    case MarkKind::kRecomputeRipple:
      return HighestMoment(heap, middle, middle + std::max(1U, length / std::max(1U, mark.count.value_or(1))));
    case MarkKind::kGradientRamp:
      return mark.end_seq - length / 4;
    case MarkKind::kGrowth:
    case MarkKind::kCacheGrowth:
      return StepBeginAfter(heap, middle);
    case MarkKind::kAutocastCopies:
      return LastCopy(heap, mark);
    case MarkKind::kForeachTemporaries:
      return mark.begin_seq + length / 4;
    case MarkKind::kLogitsSlab:
    case MarkKind::kHeadGradient:
    case MarkKind::kEmbeddingGradient:
    case MarkKind::kOneOffStep:
      return mark.begin_seq;
    default:
      return HighestMoment(heap, mark.begin_seq, mark.end_seq);
  }
}

std::vector<MarkLabel> LabelsOf(const HeapExplained& heap) {
  std::vector<MarkLabel> labels;
  const uint32_t peak_seq = heap.analysis.peak.moment.seq();
  if (peak_seq != kNone) labels.push_back(PeakLabel(heap, peak_seq));
  if (std::optional<MarkLabel> failure = FailureLabel(heap)) labels.push_back(*std::move(failure));
  for (const uint32_t index : ChooseMarks(heap.marks)) {
    const Mark& mark = heap.marks.marks[index];
    if (!IsWorthALabel(mark, heap.analysis.peak.bytes)) continue;
    MarkWords words = WordsOf(mark);
    MarkLabel label;
    label.mark = index;
    const uint32_t anchor = AnchorOf(heap, mark);
    const bool is_once = IsOfTheRun(mark.kind) || mark.kind == MarkKind::kOptimizerStateInit;
    label.seqs = is_once ? std::vector<uint32_t>{anchor} : AlikePlaces(heap, anchor);
    label.title = std::move(words.title);
    label.detail = std::move(words.detail);
    label.rank = LabelRank(mark.kind);
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace memstrata
