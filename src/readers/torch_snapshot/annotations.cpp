#include "readers/torch_snapshot/annotations.h"

#include <algorithm>
#include <map>

namespace memstrata::torch_snapshot {
namespace {

struct Span {
  StringId name;
  uint32_t device;
  int64_t begin_ns;
  int64_t end_ns;
};

std::vector<Span> Pair(StoreBuilder& builder, const Records& records, const RecordList& list) {
  std::vector<Span> spans;
  std::map<std::pair<uint32_t, StringId>, std::vector<size_t>> open;  // innermost last
  uint64_t lonely = 0;
  for (const RowRange& range : list.ranges) {
    for (uint32_t row = range.begin; row < range.end; ++row) {
      const RawAnnotation& mark = records.annotations[row];
      std::vector<size_t>& stack = open[{mark.device, mark.name}];
      if (mark.is_start) {
        const bool repeated = !stack.empty() && spans[stack.back()].begin_ns == mark.time_ns;
        if (repeated) continue;
        stack.push_back(spans.size());
        spans.push_back({mark.name, mark.device, mark.time_ns, kNoTime});
      } else if (!stack.empty()) {
        spans[stack.back()].end_ns = mark.time_ns;
        stack.pop_back();
      } else {
        const bool repeated = !spans.empty() && spans.back().name == mark.name && spans.back().end_ns == mark.time_ns;
        if (repeated) continue;
        spans.push_back({mark.name, mark.device, kNoTime, mark.time_ns});
        ++lonely;
      }
    }
  }
  for (const auto& [key, stack] : open) lonely += stack.size();
  if (lonely > 0) {
    builder.diagnostics().Note(Severity::kInfo, "annotation_without_partner",
                               "Annotations have a start without an end, or an end without a start.", kUnknownBytes,
                               lonely);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::max(a.begin_ns, kNoTime) < std::max(b.begin_ns, kNoTime);
  });
  return spans;
}

// First event of the heap at or after `time_ns`. Times may go back by a little between threads: then the first place
// from which on none is earlier is as good as any.
uint32_t SeqAt(const Store& store, const Heap& heap, int64_t time_ns) {
  const auto times = store.events.time_ns.span().subspan(heap.events.begin, heap.events.size());
  return static_cast<uint32_t>(std::lower_bound(times.begin(), times.end(), time_ns) - times.begin());
}

}  // namespace

void AddAnnotations(StoreBuilder& builder, const Records& records, const RecordList& list) {
  Store& store = builder.store();
  SpanTable& table = store.spans;
  std::vector<std::vector<int64_t>> open_ends;  // per device, for the depth
  for (const Span& span : Pair(builder, records, list)) {
    uint32_t heap_row = kNone;
    for (uint32_t row = 0; row < store.heaps.size(); ++row) {
      const Heap& heap = store.heaps[row];
      if (heap.source == builder.current_source() && heap.kind == HeapKind::kDevice && heap.device == span.device)
        heap_row = row;
    }
    const bool has_times = heap_row != kNone && !store.events.time_ns.empty();
    const Heap* heap = has_times ? &store.heaps[heap_row] : nullptr;
    if (open_ends.size() <= heap_row && heap_row != kNone) open_ends.resize(heap_row + 1);
    uint16_t depth = 0;
    if (heap_row != kNone) {
      std::vector<int64_t>& ends = open_ends[heap_row];
      while (!ends.empty() && ends.back() <= span.begin_ns) ends.pop_back();
      depth = static_cast<uint16_t>(std::min<size_t>(ends.size(), UINT16_MAX));
      ends.push_back(span.end_ns == kNoTime ? INT64_MAX : span.end_ns);
    }
    table.name.PushBack(span.name);
    table.kind.PushBack(store.String(span.name).starts_with("ProfilerStep#") ? SpanKind::kStep : SpanKind::kAnnotation);
    table.begin_ns.PushBack(span.begin_ns);
    table.end_ns.PushBack(span.end_ns);
    table.heap.PushBack(heap_row);
    table.begin_seq.PushBack(heap != nullptr && span.begin_ns != kNoTime ? SeqAt(store, *heap, span.begin_ns) : kNone);
    table.end_seq.PushBack(heap != nullptr && span.end_ns != kNoTime ? SeqAt(store, *heap, span.end_ns + 1) : kNone);
    table.depth.PushBack(depth);
    table.track.PushBack(span.device);
  }
}

}  // namespace memstrata::torch_snapshot
