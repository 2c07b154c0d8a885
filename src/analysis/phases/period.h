#pragma once
// Steps of a program that names none of its parts: what it allocates comes again and again in the same order, by size
// and call stack.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// First events of the steps, each where the least is live; empty where the allocations of the heap have no period at
/// their end, or where the part that repeats only allocates (a model that is loaded layer by layer). cost: O(events)
std::vector<uint32_t> FindPeriodicSteps(const Store& store, const Heap& heap);

}  // namespace memstrata
