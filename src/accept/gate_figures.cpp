#include "accept/gate_figures.h"

#include <algorithm>
#include <iterator>

#include "accept/baseline_store.h"
#include "accept/session_figures.h"
#include "query/redact.h"
#include "query/summary.h"

namespace memstrata::accept {
namespace {

constexpr std::string_view kPeakLive = "peak_live";
constexpr std::string_view kPeakResident = "peak_resident";
constexpr std::string_view kPeakUsed = "peak_used";
constexpr std::string_view kPeakReserved = "peak_reserved";
constexpr std::string_view kSteadyPeakLive = "steady_peak_live";

std::optional<uint64_t> SteadyPeakBytes(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  std::optional<uint64_t> highest_bytes;
  for (size_t i = 1; i < steps.size(); ++i) {
    if (!steps[i].is_complete) continue;
    const uint64_t bytes = analysis.HighestIn(steps[i].begin_seq, steps[i].end_seq).bytes;
    highest_bytes = std::max(highest_bytes.value_or(0), bytes);
  }
  return highest_bytes;
}

HeapFigures FiguresOfHeap(const HeapAnalysis& analysis, const HeapSummary& summary) {
  HeapFigures figures{summary.heap->id, {}, summary.is_lower_bound, summary.lower_bound_reason};
  figures.values_bytes.emplace_back(kPeakLive, summary.live_peak.bytes);
  if (summary.reserved_peak) figures.values_bytes.emplace_back(kPeakReserved, summary.reserved_peak->bytes);
  if (const std::optional<uint64_t> steady_bytes = SteadyPeakBytes(analysis))
    figures.values_bytes.emplace_back(kSteadyPeakLive, *steady_bytes);
  return figures;
}

// Values of one figure in the runs that have it, ascending.
BaselineFigure Collect(const GateRuns& runs, const std::string& heap, const std::string& name) {
  BaselineFigure figure{name, {}};
  for (const RunFigures& run : runs.runs()) {
    for (const HeapFigures& of_heap : run.heaps) {
      if (of_heap.id != heap || (of_heap.is_lower_bound && IsSampledFigure(name))) continue;
      if (const std::optional<uint64_t> value_bytes = of_heap.ValueBytes(name))
        figure.values_bytes.push_back(*value_bytes);
    }
  }
  std::sort(figure.values_bytes.begin(), figure.values_bytes.end());
  return figure;
}

}  // namespace

std::optional<uint64_t> HeapFigures::ValueBytes(std::string_view name) const {
  for (const auto& [known, value_bytes] : values_bytes) {
    if (known == name) return value_bytes;
  }
  return std::nullopt;
}

Result<RunFigures> FiguresOf(const Store& store) {
  KeptAnalyses analyses(store);
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(analyses, {.top_count = 1}));
  RunFigures run;
  if (!store.sources.empty()) run.file = store.sources.front().file;
  for (const HeapSummary& heap : summary.heaps) run.heaps.push_back(FiguresOfHeap(analyses.Of(*heap.heap), heap));
  return run;
}

bool IsSampledFigure(std::string_view name) { return name == kPeakResident || name == kPeakUsed; }

std::vector<HeapFigures> MeasuredFigures(const measure::MeasuredSession& session) {
  const RepeatFigures figures = FiguresOfSession(session);
  std::vector<HeapFigures> measured;
  const auto add = [&measured](const std::string& id, std::string_view name, const Measured& value) {
    if (!value.value) return;
    measured.push_back(
        {id, {{std::string(name), static_cast<uint64_t>(*value.value)}}, value.is_lower_bound, value.basis});
  };
  add("host", kPeakResident, figures.host_bytes);
  for (const DeviceFigures& device : figures.devices) {
    if (!device.used_by_others.value_or(false)) add(device.id, kPeakUsed, device.used_bytes);
  }
  return measured;
}

Status GateRuns::Add(Store store, std::vector<HeapFigures> measured, const std::string& name) {
  std::vector<std::string> files;
  for (const StringId file : store.stacks.frames().file.span()) files.emplace_back(store.String(file));
  const std::string file = store.sources.empty() ? name : store.sources.front().file;
  Redact(store);
  MEMSTRATA_ASSIGN_OR_RETURN(RunFigures run, FiguresOf(store));
  run.file = file;
  uint64_t sum_bytes = 0;
  for (const HeapFigures& heap : run.heaps) sum_bytes += heap.ValueBytes(kPeakLive).value_or(0);
  std::move(measured.begin(), measured.end(), std::back_inserter(run.heaps));
  runs_.push_back(std::move(run));
  if (highest_ != nullptr && sum_bytes <= highest_bytes_) return {};
  highest_ = std::make_unique<Store>(std::move(store));
  highest_index_ = runs_.size() - 1;
  highest_bytes_ = sum_bytes;
  original_files_ = std::move(files);
  return {};
}

Baseline BaselineOf(const GateRuns& runs, const std::string& tolerance) {
  Baseline baseline{runs.runs().size(), tolerance, {}};
  for (const HeapFigures& of_heap : runs.highest_figures().heaps) {
    BaselineHeap heap{of_heap.id, {}, {}};
    for (const auto& [name, value_bytes] : of_heap.values_bytes) {
      BaselineFigure figure = Collect(runs, of_heap.id, name);
      if (!figure.values_bytes.empty()) heap.figures.push_back(std::move(figure));
    }
    if (heap.figures.empty()) continue;
    // What was measured beside a recording has no holders.
    if (const Heap* recorded = runs.highest()->FindHeap(of_heap.id))
      heap.holders = HoldersOf(AnalyseHeap(*runs.highest(), *recorded));
    baseline.heaps.push_back(std::move(heap));
  }
  return baseline;
}

}  // namespace memstrata::accept
