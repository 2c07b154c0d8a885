#include "query/derived_columns.h"

#include "analysis/category/categorize.h"
#include "analysis/phases/timeline.h"

namespace memstrata {

DerivedColumns Derive(const Store& store) {
  DerivedColumns derived;
  derived.allocation_category.resize(store.allocations.size(), static_cast<uint8_t>(Category::kUnknown));
  derived.event_phase.resize(store.events.size());
  derived.event_step.resize(store.events.size(), kNone);
  for (const Heap& heap : store.heaps) {
    const Timeline timeline = FindTimeline(store, heap);
    const std::vector<Category> categories = Categorize(store, heap, timeline);
    for (uint32_t i = 0; i < categories.size(); ++i)
      derived.allocation_category[heap.allocations.begin + i] = static_cast<uint8_t>(categories[i]);
    for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
      derived.event_phase[heap.events.begin + seq] = kPhaseNames[static_cast<size_t>(timeline.phase_of_event[seq])];
      derived.event_step[heap.events.begin + seq] = timeline.step_of_event[seq];
    }
  }
  return derived;
}

}  // namespace memstrata
