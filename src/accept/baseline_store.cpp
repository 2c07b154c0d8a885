#include "accept/baseline_store.h"

#include <algorithm>

#include "analysis/diff/diff.h"
#include "analysis/frames/useful_frame.h"
#include "model/store/preexisting_block.h"
#include "model/store/store_builder.h"

namespace memstrata::accept {
namespace {

Category CategoryNamed(std::string_view name) {
  const auto* found = std::find(std::begin(kCategoryNames), std::end(kCategoryNames), name);
  return found == std::end(kCategoryNames) ? Category::kUnknown : static_cast<Category>(found - kCategoryNames);
}

std::vector<BaselineFrame> StackOf(const Store& store, StackId stack) {
  std::vector<BaselineFrame> frames;
  const FrameTable& table = store.stacks.frames();
  for (const FrameId frame : FramesOf(store, stack)) {
    frames.push_back(
        {std::string(store.String(table.function[frame.value])), std::string(store.String(table.file[frame.value]))});
  }
  return frames;
}

StackId InternStack(Store& store, const std::vector<BaselineFrame>& stack) {
  std::vector<FrameId> frames;
  for (const BaselineFrame& frame : stack) {
    frames.push_back(store.stacks.InternFrame(store.strings.Intern(frame.function), store.strings.Intern(frame.file), 0,
                                              GuessFrameKind(frame.file, frame.function)));
  }
  return store.stacks.InternStack(frames);
}

}  // namespace

std::vector<BaselineHolder> HoldersOf(const HeapAnalysis& analysis) {
  const PeakHoldings peak = HoldingsOf(analysis);
  const PeakHoldings twice[] = {peak, peak};  // a comparison with itself groups by origin as the later one will
  HeapDiff diff = DiffPeaks(twice);
  std::vector<BaselineHolder> holders;
  uint64_t rest_bytes = 0;
  for (const DiffRow& row : diff.rows) {
    if (holders.size() >= kMostHolders) {
      rest_bytes += row.AfterBytes();
    } else {
      holders.push_back({row.AfterBytes(), std::string(kCategoryNames[static_cast<size_t>(row.category)]),
                         StackOf(*analysis.store, row.stack)});
    }
  }
  std::sort(holders.begin(), holders.end(), [](const BaselineHolder& a, const BaselineHolder& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.category != b.category ? a.category < b.category : a.stack < b.stack;
  });
  if (rest_bytes > 0) {
    const std::string_view unknown = kCategoryNames[static_cast<size_t>(Category::kUnknown)];
    holders.push_back({rest_bytes, std::string(unknown), {}});
  }
  return holders;
}

Result<Store> StoreOf(const BaselineHeap& heap) {
  StoreBuilder builder;
  builder.AddSource({.file = "baseline", .format = "baseline", .title = "Baseline"});
  Store& store = builder.store();
  for (const BaselineHolder& holder : heap.holders)
    AppendPreexisting(store.allocations,
                      {.addr = 0, .size_bytes = holder.bytes, .stack = InternStack(store, holder.stack)});
  Heap row;
  row.id = heap.id;
  row.allocations = {0, static_cast<uint32_t>(store.allocations.size())};
  row.capabilities.has_stacks = std::any_of(heap.holders.begin(), heap.holders.end(),
                                            [](const BaselineHolder& holder) { return !holder.stack.empty(); });
  store.heaps.push_back(row);
  return std::move(builder).Finalize();
}

HeapAnalysis PeakOf(const BaselineHeap& heap, const Store& store) {
  HeapAnalysis analysis;
  analysis.store = &store;
  analysis.heap = store.heaps.data();
  for (const BaselineHolder& holder : heap.holders) {
    analysis.categories.push_back(CategoryNamed(holder.category));
    analysis.peak.bytes += holder.bytes;
  }
  return analysis;
}

}  // namespace memstrata::accept
