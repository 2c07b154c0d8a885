#pragma once
// The rest of the machine: host memory while loading and running, pinned memory, and disk for checkpoints.

#include "plan/plan.h"

namespace memstrata::plan {

/// `profile`: what real runs corrected, if there is one.
void AddHost(const std::optional<Profile>& profile, Plan& plan);
void AddStorage(Plan& plan);

}  // namespace memstrata::plan
