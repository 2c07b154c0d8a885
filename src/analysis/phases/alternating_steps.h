#pragma once
// Steps of several updates: a program that trains two models in turns, as a generator and its critic, updates each of
// them within one turn of its loop. Without call stacks, what tells the updates apart is the gradients.

#include <cstdint>
#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Of begins of steps with one update each, those that begin a turn: where the sizes of the gradients which the steps
/// make repeat themselves with a period, and differ within it; or where the updates start with two call stacks in
/// turns. Steps of one kind are returned as they are. cost: O(events)
std::vector<uint32_t> JoinAlternatingSteps(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                           const std::vector<uint32_t>& begins);

}  // namespace memstrata
