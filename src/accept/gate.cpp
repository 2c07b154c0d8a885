#include "accept/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accept/baseline_store.h"
#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata::accept {
namespace {

constexpr size_t kMostSentences = 5;
constexpr double kWideFraction = 0.05;  // the addition that a gate is expected to find

uint64_t Rounded(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

uint64_t Mean(const std::vector<uint64_t>& values_bytes) {
  double sum = 0;
  for (const uint64_t value_bytes : values_bytes) sum += static_cast<double>(value_bytes);
  return Rounded(sum / static_cast<double>(values_bytes.size()));
}

std::string Change(const FigureCheck& check) {
  if (check.DeltaBytes() == 0) return "equal to the baseline";
  const uint64_t change_bytes = static_cast<uint64_t>(std::abs(check.DeltaBytes()));
  const std::string part = check.baseline_bytes == 0
                               ? ""
                               : fmt::format(" ({})", FormatPercent(static_cast<double>(change_bytes) /
                                                                    static_cast<double>(check.baseline_bytes)));
  return fmt::format("{}{} {} the baseline of {}", FormatBytes(change_bytes), part,
                     check.DeltaBytes() > 0 ? "above" : "below", FormatBytes(check.baseline_bytes));
}

// Pages of a process do not scatter normally: most runs lie within a few pages of each other, and one in some lies tens
// of pages above. A mebibyte, of a small process 2 %, is allowed at least.
double LeastAllowed(const std::vector<double>& repeats) {
  const double lowest = *std::min_element(repeats.begin(), repeats.end());
  return std::min(0x1p20, kAssumedFraction * lowest);
}

// Judges one figure. `bound_reason`: why a run's real peak may be higher than recorded; empty when it is exact.
void Judge(FigureCheck& check, const std::string& bound_reason) {
  check.mean_bytes = Mean(check.values_bytes);
  check.verdict = check.mean_bytes > check.limit_bytes ? Verdict::kFail
                  : bound_reason.empty()               ? Verdict::kPass
                                                       : Verdict::kUndecided;
  check.text =
      fmt::format("{} {} is {}: {}; {} more are allowed ({}).", check.heap, check.figure, FormatBytes(check.mean_bytes),
                  Change(check), FormatBytes(Rounded(check.tolerance.allowed)), check.tolerance.how);
  if (check.verdict == Verdict::kUndecided) check.text += fmt::format(" The real peak may be higher: {}", bound_reason);
}

class Gatekeeper {
 public:
  Gatekeeper(const Baseline& baseline, const GateRuns& runs, const std::optional<GivenTolerance>& given)
      : baseline_(baseline), runs_(runs), given_(given) {}

  Result<GateAnswer> Run() {
    answer_.baseline_run_count = baseline_.run_count;
    for (const RunFigures& run : runs_.runs()) answer_.runs.push_back(run.file);
    for (const BaselineHeap& heap : baseline_.heaps) {
      CheckHeap(heap);
      const bool fails = std::any_of(answer_.checks.begin(), answer_.checks.end(), [&](const FigureCheck& check) {
        return check.heap == heap.id && check.verdict == Verdict::kFail;
      });
      if (fails) MEMSTRATA_TRY(BlameHeap(heap));
    }
    NoteNewHeaps();
    for (const FigureCheck& check : answer_.checks) answer_.verdict = Both(answer_.verdict, check.verdict);
    if (answer_.checks.empty()) answer_.verdict = Verdict::kUndecided;  // nothing was compared
    return std::move(answer_);
  }

 private:
  // What all runs say of a heap; fewer values than runs where one lacks it.
  std::vector<const HeapFigures*> OfHeap(const std::string& id) const {
    std::vector<const HeapFigures*> found;
    for (const RunFigures& run : runs_.runs()) {
      for (const HeapFigures& heap : run.heaps) {
        if (heap.id == id) found.push_back(&heap);
      }
    }
    return found;
  }

  void CheckHeap(const BaselineHeap& heap) {
    const std::vector<const HeapFigures*> found = OfHeap(heap.id);
    std::string bound_reason;
    for (const HeapFigures* figures : found) {
      if (figures->is_lower_bound) bound_reason = figures->lower_bound_reason;
    }
    for (const BaselineFigure& figure : heap.figures) {
      std::vector<uint64_t> values_bytes;
      for (const HeapFigures* figures : found) {
        if (const std::optional<uint64_t> value_bytes = figures->ValueBytes(figure.name))
          values_bytes.push_back(*value_bytes);
      }
      CheckFigure(heap, figure, std::move(values_bytes), bound_reason);
    }
  }

  void CheckFigure(const BaselineHeap& heap, const BaselineFigure& figure, std::vector<uint64_t> values_bytes,
                   const std::string& bound_reason) {
    FigureCheck check{.heap = heap.id, .figure = figure.name, .values_bytes = std::move(values_bytes)};
    const std::vector<double> repeats(figure.values_bytes.begin(), figure.values_bytes.end());
    const double least = IsSampledFigure(figure.name) ? LeastAllowed(repeats) : 0;
    check.tolerance = ToleranceOf(repeats, std::max<size_t>(check.values_bytes.size(), 1), given_, least);
    check.baseline_bytes = Rounded(check.tolerance.mean);
    check.limit_bytes = Rounded(check.tolerance.mean + check.tolerance.allowed);
    if (IsSampledFigure(figure.name) && !IsComparable(check, bound_reason)) return;
    if (check.values_bytes.size() == runs_.runs().size()) {
      Judge(check, bound_reason);
    } else {
      check.text = fmt::format("{} {} is not in {} of the {} runs.", heap.id, figure.name,
                               runs_.runs().size() - check.values_bytes.size(), runs_.runs().size());
    }
    if (!given_ && check.tolerance.found > kWideFraction * check.tolerance.mean) {
      answer_.notes.push_back(fmt::format(
          "{} {} scatters so much that only additions of {} or more are surely found; more repeats in the baseline, "
          "or several runs, find less.",
          heap.id, figure.name, FormatBytes(Rounded(check.tolerance.found))));
    }
    answer_.checks.push_back(std::move(check));
  }

  // A figure that a sampler gives, which was not measured whole in every run, is compared only where it is surely
  // above.
  bool IsComparable(const FigureCheck& check, const std::string& bound_reason) {
    const size_t lacking_count = runs_.runs().size() - check.values_bytes.size();
    const bool is_whole = lacking_count == 0 && bound_reason.empty();
    if (is_whole || (!check.values_bytes.empty() && Mean(check.values_bytes) > check.limit_bytes)) return true;
    answer_.notes.push_back(fmt::format(
        "{} {} is not compared: {}", check.heap, check.figure,
        lacking_count > 0 ? fmt::format("it was not measured in {} of the {} runs.", lacking_count, runs_.runs().size())
                          : "it was not measured whole. " + bound_reason));
    return false;
  }

  Status BlameHeap(const BaselineHeap& heap) {
    const Heap* after = runs_.highest()->FindHeap(heap.id);
    if (after == nullptr) return {};
    MEMSTRATA_ASSIGN_OR_RETURN(const Store before_store, StoreOf(heap));
    const HeapAnalysis analyses[] = {PeakOf(heap, before_store), AnalyseHeap(*runs_.highest(), *after)};
    const std::vector<PeakHoldings> recordings = HoldingsOf(analyses);
    const HeapDiff diff = DiffPeaks(recordings);
    HeapBlame blame{heap.id, {}, {}};
    for (Regression& sentence : DescribeDiff(recordings, diff, kMostSentences))
      blame.sentences.push_back(std::move(sentence.text));
    for (const DiffRow& row : diff.rows) {
      if (row.DeltaBytes() <= 0 || blame.rows.size() >= kMostBlamedRows) continue;
      blame.rows.push_back(RowOf(row));
    }
    answer_.blames.push_back(std::move(blame));
    return {};
  }

  // Of a row that grew: its stack is one of the run, since the run is the last that has it.
  BlamedRow RowOf(const DiffRow& diff) const {
    const Store& store = *runs_.highest();
    BlamedRow row{
        std::string(kCategoryNames[static_cast<size_t>(diff.category)]), diff.BeforeBytes(), diff.AfterBytes(), {}};
    const std::vector<FrameId> frames = FramesOf(store, diff.stack);
    const FrameTable& table = store.stacks.frames();
    for (const FrameId frame : frames) {
      row.stack.push_back(
          {std::string(store.String(table.function[frame.value])), runs_.OriginalFile(frame), table.line[frame.value]});
    }
    if (!frames.empty()) row.useful_index = UsefulFrameIndex(store, frames);
    return row;
  }

  void NoteNewHeaps() {
    for (const HeapFigures& heap : runs_.runs().front().heaps) {
      const bool is_known = std::any_of(baseline_.heaps.begin(), baseline_.heaps.end(),
                                        [&](const BaselineHeap& known) { return known.id == heap.id; });
      if (is_known) continue;
      const bool is_sampled = IsSampledFigure(heap.values_bytes.front().first);
      if (is_sampled && heap.is_lower_bound) continue;
      if (!is_sampled) answer_.verdict = Verdict::kUndecided;
      answer_.notes.push_back(fmt::format("{} is not in the baseline; `--update` takes it in.", heap.id));
    }
  }

  const Baseline& baseline_;
  const GateRuns& runs_;
  const std::optional<GivenTolerance>& given_;
  GateAnswer answer_;
};

}  // namespace

Result<GateAnswer> Gate(const Baseline& baseline, const GateRuns& runs, std::optional<GivenTolerance> given) {
  if (!given && !baseline.tolerance.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(given, ParseTolerance(baseline.tolerance));
  }
  return Gatekeeper(baseline, runs, given).Run();
}

}  // namespace memstrata::accept
