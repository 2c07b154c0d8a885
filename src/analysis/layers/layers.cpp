#include "analysis/layers/layers.h"

#include <algorithm>

#include "analysis/marks/step_view.h"
#include "analysis/phases/loop_jumps.h"
#include "base/flat_map.h"

namespace memstrata {

std::vector<RepeatedLayer> FindRepeatedLayers(const HeapAnalysis& analysis, size_t top_count) {
  const StepView view = FindRepresentativeStep(analysis);
  if (view.step == kNone || !analysis.heap->capabilities.has_stacks) return {};
  FlatMap<uint32_t, RepeatedLayer> by_loop;
  for (const LoopJump& jump : FindLoopJumps(*analysis.store, *analysis.heap, view.forward_begin, view.forward_end)) {
    RepeatedLayer& layer = by_loop[jump.loop_node];
    layer.call = {jump.loop_node};
    layer.call_count += layer.call_count == 0 ? 2 : 1;  // the first jump starts the second call
  }
  const AllocationTable& table = analysis.store->allocations;
  const StackTable& stacks = analysis.store->stacks.stacks();
  for (const uint32_t row : view.made) {
    const bool is_kept = table.alloc_seq[row] >= view.forward_begin && table.alloc_seq[row] < view.forward_end &&
                         table.free_requested_seq[row] >= view.backward_begin;
    if (!is_kept) continue;
    for (uint32_t node = table.stack[row].value; node != 0; node = stacks.parent[node].value) {
      const auto layer = by_loop.find(node);
      if (layer != by_loop.end()) layer->second.kept_bytes += table.size_bytes[row];
    }
  }
  std::vector<RepeatedLayer> layers;
  for (const auto& [loop, layer] : by_loop) layers.push_back(layer);
  std::sort(layers.begin(), layers.end(), [](const RepeatedLayer& a, const RepeatedLayer& b) {
    return a.kept_bytes != b.kept_bytes ? a.kept_bytes > b.kept_bytes : a.call.value < b.call.value;
  });
  if (layers.size() > top_count) layers.resize(top_count);
  return layers;
}

}  // namespace memstrata
