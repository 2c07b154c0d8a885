#pragma once
// Whether the categories of a heap tell anything: of profiles without tensors, and of recordings without stacks, they
// do not.

#include "query/session_index.h"

namespace memstrata {

/// True where most of the peak has no known category but stacks or operations: bands are of these then, as on the page.
/// cost: O(allocations)
bool IsMostlyUnknown(SessionIndex& session, HeapEntry& heap);

}  // namespace memstrata
