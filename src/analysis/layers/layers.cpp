#include "analysis/layers/layers.h"

#include <algorithm>

#include "analysis/marks/step_view.h"

namespace memstrata {
namespace {

void Add(std::optional<uint64_t>& sum, uint64_t bytes) { sum = sum.value_or(0) + bytes; }

}  // namespace

std::vector<RepeatedLayer> FindRepeatedLayers(const HeapAnalysis& analysis, const ModulePaths& modules,
                                              size_t top_count) {
  const StepView view = FindRepresentativeStep(analysis);
  if (view.step == kNone) return {};
  std::vector<RepeatedLayer> layers;
  for (const LayerLoop& loop : modules.loops) layers.push_back({.loop = loop});
  const AllocationTable& table = analysis.store->allocations;
  const Heap& heap = *analysis.heap;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t loop = modules.loop_of_row[row - heap.allocations.begin];
    if (loop == kNone) continue;
    const uint32_t begin_seq = table.alloc_seq[row];
    const Category category = analysis.CategoryOf(row);
    if (category == Category::kParameter) Add(layers[loop].parameter_bytes, table.size_bytes[row]);
    if (category == Category::kOptimizerState) Add(layers[loop].optimizer_state_bytes, table.size_bytes[row]);
    if (begin_seq == kNone || begin_seq < view.span.begin_seq || begin_seq >= view.span.end_seq) continue;
    if (category == Category::kGradient) Add(layers[loop].gradient_bytes, table.size_bytes[row]);
    const bool is_kept = begin_seq >= view.forward_begin && begin_seq < view.forward_end &&
                         table.free_requested_seq[row] >= view.backward_begin;
    if (is_kept) layers[loop].kept_bytes += table.size_bytes[row];
  }
  std::erase_if(layers, [](const RepeatedLayer& layer) { return layer.loop.layer_count < 2; });
  std::stable_sort(layers.begin(), layers.end(),
                   [](const RepeatedLayer& a, const RepeatedLayer& b) { return a.kept_bytes > b.kept_bytes; });
  if (layers.size() > top_count) layers.resize(top_count);
  return layers;
}

}  // namespace memstrata
