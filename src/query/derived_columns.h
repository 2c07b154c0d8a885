#pragma once
// What the analyses say of rows of the store: category, phase and step, for the tables that join them in.

#include "query/table.h"

namespace memstrata {

/// cost: O(events + allocations log allocations)
DerivedColumns Derive(const Store& store);

}  // namespace memstrata
