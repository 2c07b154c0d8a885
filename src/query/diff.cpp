#include "query/diff.h"

namespace memstrata {

Result<DiffAnswer> Diff(const Store& before, const Store& after, const std::string& heap) {
  DiffAnswer answer{&before, &after, {}, {}, {}};
  for (const Heap& old_heap : before.heaps) {
    if (!heap.empty() && old_heap.id != heap) continue;
    const Heap* new_heap = after.FindHeap(old_heap.id);
    if (new_heap == nullptr) {
      answer.only_before.push_back(old_heap.id);
      continue;
    }
    answer.heaps.push_back({old_heap.id, DiffPeaks(AnalyseHeap(before, old_heap), AnalyseHeap(after, *new_heap))});
  }
  for (const Heap& new_heap : after.heaps) {
    const bool is_wanted = heap.empty() || new_heap.id == heap;
    if (is_wanted && before.FindHeap(new_heap.id) == nullptr) answer.only_after.push_back(new_heap.id);
  }
  if (answer.heaps.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "The two recordings have no such heap in common; `memstrata summary` lists the heaps of a file.");
  }
  return answer;
}

}  // namespace memstrata
