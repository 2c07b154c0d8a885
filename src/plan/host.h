#pragma once
// The rest of the machine: host memory while loading and running, pinned memory, and disk for checkpoints.

#include "plan/plan.h"

namespace memstrata::plan {

void AddHost(Plan& plan);
void AddStorage(Plan& plan);

}  // namespace memstrata::plan
