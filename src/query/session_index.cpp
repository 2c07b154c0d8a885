#include "query/session_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "query/module_keys.h"

namespace memstrata {

SessionIndex::SessionIndex(Store store, std::string version, std::vector<Document> documents)
    : store_(std::move(store)), analyses_(store_), version_(std::move(version)) {
  for (const Heap& heap : store_.heaps)
    heaps_.push_back(std::make_unique<HeapEntry>(store_, heap, static_cast<uint32_t>(heaps_.size())));
  for (Document& document : documents) {
    documents_.push_back(std::make_unique<KeptDocument>());
    documents_.back()->document = std::move(document);
  }
}

HeapEntry* SessionIndex::DefaultHeap() {
  HeapEntry* best = nullptr;
  for (const auto& entry : heaps_) {
    const auto rank = [](HeapEntry& heap) {
      return std::pair(heap.heap.kind == HeapKind::kDevice, heap.heap_index.LivePeak().bytes);
    };
    if (best == nullptr || rank(*entry) > rank(*best)) best = entry.get();
  }
  return best;
}

const ExplainAnswer& SessionIndex::Explained() {
  return explained_.Get([&] { return *Explain(analyses_); });  // of all heaps, which cannot fail
}

const std::vector<ProgramRun>& SessionIndex::RunsOf(HeapEntry& heap) {
  return heap.runs.Get([&] { return FindProgramRuns(store_, heap.heap); });
}

const std::vector<Category>& SessionIndex::CategoryOfRow() {
  return categories_.Get([&] {
    std::vector<Category> categories(store_.allocations.size(), Category::kUnknown);
    for (const auto& entry : heaps_) {
      const std::vector<Category>& of_heap = analyses_.Of(entry->heap).categories;
      std::copy(of_heap.begin(), of_heap.end(), categories.begin() + entry->heap.allocations.begin);
    }
    return categories;
  });
}

const StackKeys& SessionIndex::Keys(GroupBy by) {
  return keys_[static_cast<size_t>(by)].Get([&] {
    if (by == GroupBy::kShape) return MakeShapeKeys(store_);
    if (by == GroupBy::kModule) return MakeModuleKeys(store_, Useful(), CategoryOfRow(), LayerNumbers::kKept);
    return MakeStackKeys(store_, Useful(), by);
  });
}

const Grouping& SessionIndex::GroupingOf(HeapEntry& heap, GroupBy by) {
  return heap.groupings[static_cast<size_t>(by)].Get([&] {
    static const std::vector<Category> kNoCategories;
    static const StackKeys kNoKeys;
    if (by == GroupBy::kModule) {  // a picture of some of many layers says little
      const StackKeys& keys = modules_of_all_layers_.Get(
          [&] { return MakeModuleKeys(store_, Useful(), CategoryOfRow(), LayerNumbers::kLeft); });
      return MakeGrouping(heap.heap_index, by, kNoCategories, keys);
    }
    const bool needs_keys =
        by == GroupBy::kStack || by == GroupBy::kFile || by == GroupBy::kFunction || by == GroupBy::kShape;
    return MakeGrouping(heap.heap_index, by, by == GroupBy::kCategory ? CategoryOfRow() : kNoCategories,
                        needs_keys ? Keys(by) : kNoKeys);
  });
}

void SessionIndex::Prepare() {
  // The question for the session comes first and waits for peaks and times.
  const auto find_groups = [this] {
    for (const auto& entry : heaps_) (void)entry->heap_index.LivePeak();
    if (HeapEntry* heap = DefaultHeap()) (void)GroupingOf(*heap, GroupBy::kCategory);
  };
  const auto find_curves = [this] {
    for (const auto& entry : heaps_) {
      (void)entry->heap_index.Time();
      if (entry->heap.capabilities.has_segments) (void)entry->heap_index.Reserved();
    }
    for (const auto& entry : heaps_) {
      if (entry->heap.capabilities.has_block_bytes) (void)entry->heap_index.Block();
      (void)entry->heap_index.Pending();
    }
  };
  RunBoth(find_groups, find_curves);
}

Result<std::string> SessionIndex::DocumentText(std::string_view name) {
  for (const auto& kept : documents_) {
    if (kept->document.name == name) return kept->text.Get([&] { return kept->document.write(*this); });
  }
  return Fail(ErrorCode::kNotFound, fmt::format("This session has no \"{}\".", name));
}

}  // namespace memstrata
