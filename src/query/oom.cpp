#include "query/oom.h"

#include <algorithm>

#include "oom/oom_text.h"
#include "query/no_such_heap.h"

namespace memstrata {

bool OomAnswer::HasFailure() const {
  return !failures.empty() || std::any_of(messages.begin(), messages.end(), [](const OomReport& report) {
    return report.verdict != OomVerdict::kNotExhaustion;
  });
}

Result<OomAnswer> ExplainOutOfMemory(KeptAnalyses& analyses, std::string_view heap) {
  const Store& store = analyses.store();
  OomAnswer answer;
  answer.store = &store;
  bool found = heap.empty();
  for (const Heap& candidate : store.heaps) {
    if (!heap.empty() && candidate.id != heap) continue;
    found = true;
    std::vector<SnapshotOom> failures = ExplainFailures(analyses, candidate, kMostFailures, answer.left_out_count);
    std::move(failures.begin(), failures.end(), std::back_inserter(answer.failures));
  }
  if (!found) return NoSuchHeap(store, heap);
  return answer;
}

OomAnswer ExplainOutOfMemoryText(std::string_view text) {
  OomAnswer answer;
  answer.messages = oom::ExplainText(text);
  return answer;
}

}  // namespace memstrata
