#include "query/explain.h"

#include <algorithm>

#include "query/no_such_heap.h"
#include "query/phase_confidence.h"

namespace memstrata {
namespace {

HeapExplained ExplainHeap(const HeapAnalysis& analysis) {
  HeapExplained explained(analysis);
  for (const StepSpan& span : analysis.timeline.steps) {
    explained.steps.push_back(
        {span, analysis.HighestIn(span.begin_seq, span.end_seq).bytes, analysis.live.At(Moment{span.end_seq})});
  }
  const std::vector<double> confidences = FindPhaseConfidences(analysis);
  for (size_t i = 0; i < analysis.timeline.phases.size(); ++i) {
    const PhaseSpan& span = analysis.timeline.phases[i];
    const int64_t delta_bytes = static_cast<int64_t>(analysis.live.At(Moment{span.end_seq})) -
                                static_cast<int64_t>(analysis.live.At(Moment{span.begin_seq}));
    explained.phases.push_back(
        {span, analysis.HighestIn(span.begin_seq, span.end_seq).bytes, delta_bytes, confidences[i]});
  }
  explained.bands = FindBands(analysis);
  explained.marks = FindMarks(analysis);
  explained.next_peaks = FindNextPeaks(analysis);
  explained.fragmentation = ExplainFragmentation(analysis);
  constexpr size_t kMostLayers = 10;
  const ModulePaths modules = FindModulePaths(*analysis.store, *analysis.heap, analysis.timeline, analysis.categories);
  explained.layers = FindRepeatedLayers(analysis, modules, kMostLayers);
  explained.findings = RunPasses(analysis);
  if (explained.fragmentation) {
    for (Finding& finding : FragmentationFindings(*explained.fragmentation))
      explained.findings.push_back(std::move(finding));
    std::stable_sort(explained.findings.begin(), explained.findings.end(), IsMoreUrgent);
  }
  return explained;
}

}  // namespace

Result<ExplainAnswer> Explain(KeptAnalyses& analyses, const std::string& heap_id) {
  ExplainAnswer answer{&analyses.store(), nullptr, {}};
  for (const Heap& heap : answer.store->heaps) {
    if (heap_id.empty() || heap.id == heap_id) answer.heaps.push_back(ExplainHeap(analyses.Of(heap)));
  }
  if (answer.heaps.empty() && !heap_id.empty()) return NoSuchHeap(*answer.store, heap_id);
  return answer;
}

Result<ExplainAnswer> Explain(const Store& store, const ExplainOptions& options) {
  auto analyses = std::make_shared<KeptAnalyses>(store, options.device);
  MEMSTRATA_ASSIGN_OR_RETURN(ExplainAnswer answer, Explain(*analyses, options.heap));
  answer.own_analyses = std::move(analyses);
  return answer;
}

}  // namespace memstrata
