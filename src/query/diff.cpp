#include "query/diff.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr size_t kMostSentences = 5;

bool AllHave(std::span<const Store> recordings, const std::string& id) {
  return std::all_of(recordings.begin(), recordings.end(),
                     [&](const Store& store) { return store.FindHeap(id) != nullptr; });
}

HeapDiffAnswer DiffHeap(std::span<const Store> recordings, const std::string& id) {
  std::vector<HeapAnalysis> analyses;
  for (const Store& store : recordings) analyses.push_back(AnalyseHeap(store, *store.FindHeap(id)));
  const std::vector<PeakHoldings> holdings = HoldingsOf(analyses);
  HeapDiffAnswer answer{id, DiffPeaks(holdings), {}};
  answer.sentences = DescribeDiff(holdings, answer.diff, kMostSentences);
  return answer;
}

}  // namespace

Result<DiffAnswer> Diff(std::span<const Store> recordings, const std::string& heap) {
  DiffAnswer answer;
  for (const Store& store : recordings) answer.recordings.push_back(&store);
  for (const Heap& first : recordings.front().heaps) {
    if (!heap.empty() && first.id != heap) continue;
    if (AllHave(recordings, first.id)) {
      answer.heaps.push_back(DiffHeap(recordings, first.id));
    } else {
      answer.only_before.push_back(first.id);
    }
  }
  for (const Heap& last : recordings.back().heaps) {
    const bool is_wanted = heap.empty() || last.id == heap;
    if (is_wanted && !AllHave(recordings, last.id)) answer.only_after.push_back(last.id);
  }
  if (answer.heaps.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "The recordings have no such heap in common; `memstrata summary` lists the heaps of a file.");
  }
  return answer;
}

}  // namespace memstrata
