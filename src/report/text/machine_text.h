#pragma once
// The part of `memstrata doctor` that tells of this machine, and of what a recording here would see.

#include <string>

#include "measure/machine.h"

namespace memstrata {

std::string MachineText(const measure::Machine& machine);

}  // namespace memstrata
