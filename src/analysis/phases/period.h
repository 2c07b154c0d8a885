#pragma once
// Steps of a program that names none of its parts: what it does comes again and again in the same order.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// First events of the steps, each where the least is live, by allocations of the same size and call stack in the same
/// order. Empty where the allocations of the heap have no period at their end, or where the part that repeats keeps
/// most of what it makes (a model that is loaded layer by layer), unless it `may_keep_all`. cost: O(events)
std::vector<uint32_t> FindPeriodicSteps(const Store& store, const Heap& heap, bool may_keep_all);

/// The same by lifetimes in events, whatever the sizes: a generation repeats itself with a cache that grows. Events
/// from `begin_seq` on; what comes before the first period is a step of its own. cost: O(events)
std::vector<uint32_t> FindPeriodicLifetimes(const Store& store, const Heap& heap, uint32_t begin_seq);

}  // namespace memstrata
