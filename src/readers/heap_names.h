#pragma once
// Heap ids in a session of several sources: "SOURCE/ID", where SOURCE is the host or the file's name.

#include "model/store/store_builder.h"

namespace memstrata {

/// Renames the heaps of sessions with several sources so that ids are unique; equal source names are numbered.
void NameHeapsApart(Store& store);

}  // namespace memstrata
