#pragma once
// What an XPlane profile states of each event of a heap, for a page without a server.

#include "model/store/store.h"

namespace memstrata {

class FrameWriter;

/// Adds the table "profile" and the attribute "memory_id"; nothing for other heaps. cost: O(events)
void WriteProfileEvents(FrameWriter& frame, const Store& store, const Heap& heap);

}  // namespace memstrata
