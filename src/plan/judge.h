#pragma once
// Whether a card has what a plan needs: first that the engine and the number format run on it, then the memory.

#include "plan/plan.h"

namespace memstrata::plan {

/// Bytes of the card that the process may use: all, or the share that the engine takes.
uint64_t UsableBytes(const PlanRequest& request);

/// Sets the target, the answer and the sentence. Nothing without a card.
void Judge(const PlanRequest& request, Plan& plan);

}  // namespace memstrata::plan
