#pragma once
// The layer of blocks whose stacks do not say it, where order and sizes prove it: recomputation and backward run the
// layers in reverse, parameters and states of the optimizer stand in the order of the layers.

#include <span>
#include <vector>

#include "analysis/category/category.h"
#include "analysis/layers/module_calls.h"

namespace memstrata {

/// The layer scope (index into calls.scopes) of each block, 0 where nothing proves one:
/// - of a forward: by its stack;
/// - of a recompute: the n-th recompute from the end is the n-th call, where their numbers are equal;
/// - of a backward: a node of autograd gives back what it saved after it allocated. A temporary belongs to the layer
///   whose saved blocks are given back before and after it; a gradient to the one after it, where every layer of a loop
///   then has gradients of the same sizes in the same order;
/// - parameters and states: where exactly one stretch of them consists of equal parts, one a layer, with the sizes of
///   the gradients of a layer.
/// cost: O(events + allocations)
std::vector<uint32_t> FindLayers(const Store& store, const Heap& heap, const Timeline& timeline,
                                 std::span<const Category> categories, const ModuleCalls& calls);

}  // namespace memstrata
