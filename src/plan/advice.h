#pragma once
// Besides bytes: number formats that a card lacks, and what to change first when a job does not fit.

#include "plan/plan.h"

namespace memstrata::plan {

/// Formats of the workload that the card does not compute in; empty for a capacity without a card.
std::vector<std::string> UnsupportedFormats(const Card& card, const Workload& workload);
/// True where the engine's kernels unpack the weights because the card does not multiply in their format.
bool IsWeightOnly(const Card& card, const Workload& workload);
/// Single changes that were tried, largest saving first, each with what it saves and whether the job then fits.
/// `plan`: of the request.
std::vector<std::string> SuggestChanges(const PlanRequest& request, const Plan& plan);

}  // namespace memstrata::plan
