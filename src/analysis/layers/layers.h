#pragma once
// Layers that a model calls again and again: how many there are, and what they hold.

#include <optional>
#include <vector>

#include "analysis/heap_analysis.h"
#include "analysis/layers/module_paths.h"

namespace memstrata {

/// Sums are over all layers of one loop. Without a value: not known, because nothing proves the layer of such a block
/// (layer_order.h), or because there is none.
struct RepeatedLayer {
  LayerLoop loop;
  uint64_t kept_bytes = 0;  // made in the forward, alive when the backward begins
  std::optional<uint64_t> gradient_bytes;
  std::optional<uint64_t> parameter_bytes;
  std::optional<uint64_t> optimizer_state_bytes;
};

/// In the step that FindRepresentativeStep chooses; those that keep most first, at most `top_count`. `modules` is what
/// FindModulePaths() says of the heap. cost: O(allocations)
std::vector<RepeatedLayer> FindRepeatedLayers(const HeapAnalysis& analysis, const ModulePaths& modules,
                                              size_t top_count);

}  // namespace memstrata
