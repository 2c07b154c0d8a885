#include "query/derived_columns.h"

#include "analysis/category/categorize.h"
#include "analysis/layers/module_paths.h"
#include "analysis/phases/timeline.h"

namespace memstrata {
namespace {

void AddModules(const Heap& heap, const ModulePaths& paths, DerivedColumns& derived) {
  const auto first_text = static_cast<uint32_t>(derived.module_texts.size());
  derived.module_texts.insert(derived.module_texts.end(), paths.texts.begin() + 1, paths.texts.end());
  for (uint32_t i = 0; i < paths.path_of_row.size(); ++i) {
    const uint32_t path = paths.path_of_row[i];
    derived.allocation_module[heap.allocations.begin + i] = path == 0 ? 0 : first_text + path - 1;
    derived.allocation_layer[heap.allocations.begin + i] = paths.layer_of_row[i];
  }
}

}  // namespace

DerivedColumns Derive(const Store& store) {
  DerivedColumns derived;
  derived.allocation_category.resize(store.allocations.size(), static_cast<uint8_t>(Category::kUnknown));
  derived.module_texts.emplace_back();
  derived.allocation_module.resize(store.allocations.size(), 0);
  derived.allocation_layer.resize(store.allocations.size(), kNone);
  derived.event_phase.resize(store.events.size());
  derived.event_step.resize(store.events.size(), kNone);
  for (const Heap& heap : store.heaps) {
    const Timeline timeline = FindTimeline(store, heap);
    const std::vector<Category> categories = Categorize(store, heap, timeline);
    AddModules(heap, FindModulePaths(store, heap, timeline, categories), derived);
    for (uint32_t i = 0; i < categories.size(); ++i)
      derived.allocation_category[heap.allocations.begin + i] = static_cast<uint8_t>(categories[i]);
    for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
      // XLA has no phases: nothing is better than "other" throughout.
      if (!store.HasXPlaneDetails(heap))
        derived.event_phase[heap.events.begin + seq] = kPhaseNames[static_cast<size_t>(timeline.phase_of_event[seq])];
      derived.event_step[heap.events.begin + seq] = timeline.step_of_event[seq];
    }
  }
  return derived;
}

}  // namespace memstrata
