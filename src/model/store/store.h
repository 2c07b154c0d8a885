#pragma once
// One session, read and frozen. Everything after the reader is a pure function of a `const Store&`: thread-safe without
// locks, cacheable, deterministic. Built by StoreBuilder (model/store/store_builder.h).

#include <span>
#include <string>
#include <vector>

#include "model/store/programs.h"
#include "model/store/tables.h"
#include "model/store/xplane_events.h"
#include "model/table/stack_tree.h"
#include "model/table/string_pool.h"

namespace memstrata {

struct Store {
  std::vector<Source> sources;
  std::vector<Heap> heaps;
  EventTable events;
  AllocationTable allocations;
  SegmentTable segments;
  FinalSegmentTable final_segments;
  BlockTable blocks;
  SpanTable spans;
  XPlaneTable xplane;
  std::vector<Program> programs;
  StringPool strings;
  StackTree stacks;
  std::vector<uint64_t> streams;  // raw handles; the column holds the index
  std::vector<Pool> pools;
  std::vector<EventContext> contexts;
  std::vector<Diagnostic> diagnostics;
  std::vector<Missing> missing;

  std::string_view String(StringId id) const { return strings.Get(id); }
  /// Row of an event of a heap; no check.
  uint32_t EventRow(const Heap& heap, uint32_t seq) const { return heap.events.begin + seq; }
  /// Time of an event, kNoTime where not recorded.
  int64_t EventTime(const Heap& heap, uint32_t seq) const {
    return events.time_ns.empty() ? kNoTime : events.time_ns[heap.events.begin + seq];
  }
  /// Whether the heap's events have rows in xplane.events: then its levels are recorded, not summed up.
  bool HasXPlaneDetails(const Heap& heap) const {
    return heap.events.size() > 0 && heap.events.end <= xplane.events.size() &&
           xplane.events.line[heap.events.begin] != kNone;
  }
  /// The heap with this id, or nullptr.
  const Heap* FindHeap(std::string_view id) const;
};

}  // namespace memstrata
