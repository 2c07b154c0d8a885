#pragma once
// The part of `memstrata doctor --json` that tells of this machine.

#include "base/json_writer.h"
#include "measure/machine.h"

namespace memstrata {

/// The fields "devices", "links", "vendors_without_devices", "host" and "frameworks" of the object that is open.
void WriteMachine(JsonWriter& json, const measure::Machine& machine);

}  // namespace memstrata
