#pragma once
// A session that may be shown to strangers.

#include "model/store/store.h"

namespace memstrata {

/// Takes out what tells where and by whom a program ran: folders (a file of a framework or of the Python library keeps
/// its place below it, every other file only its name), names of hosts ("host-1", …), metadata that the user's program
/// attached, and settings that hold a path. Kept: function names, labels of steps and phases, sizes, addresses, times.
/// Stacks, and with them every figure, stay the same. cost: O(frames + strings of programs)
void Redact(Store& store);

}  // namespace memstrata
