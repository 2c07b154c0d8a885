#pragma once
// A plan beside a dry run of the same workload: the planner's own model of a step against PyTorch's allocator, term by
// term.
//
//   request = RequestOfPlan(plan, config, interpreter);
//   stage = Stage::Create(request, ProbeWheel(interpreter, …));
//   comparison = ComparePlan(plan, request, stage);

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dryrun/dry_run.h"
#include "plan/plan.h"

namespace memstrata::dryrun {

/// One term of a plan (docs/reference/plan.md), and the same of the dry run. Unknown: it has none, or memory ended.
struct ComparedTerm {
  std::string term;
  std::optional<uint64_t> planned_bytes;
  std::optional<uint64_t> measured_bytes;

  /// planned - measured
  std::optional<int64_t> DifferenceBytes() const;
  /// The difference as a share of what was measured; unknown when that is 0.
  std::optional<double> Error() const;
};

struct PlanComparison {
  plan::Plan plan;
  plan::Card card;
  DryRun run;
  std::string transformers_version;  // empty: the model was never built
  std::vector<ComparedTerm> terms;   // empty: nothing was measured
  std::string last_phase;            // of the peak; when memory ended: in which it did
};

/// What stands in the way of a dry run of this workload, as a sentence; nothing when it can be run.
std::optional<std::string> WhyNotComparable(const plan::PlanRequest& request);

/// The dry run that does what the plan is for. `config` is the path or the text of the model's config.json, and
/// `request.card` must be given. error: kInvalidArgument as WhyNotComparable says.
Result<DryRunRequest> RequestOfPlan(const plan::PlanRequest& request, const std::string& config,
                                    const std::string& interpreter);

/// Runs it and pairs the terms. error: those of RunOnce; kCorruptInput when the run left a record that is not
/// understood. cost: three steps of the model, seconds for billions of parameters
Result<PlanComparison> ComparePlan(plan::Plan plan, const DryRunRequest& request, const Stage& stage);

/// The terms of `plan` that the workload has, each with its value in `measured` ("term.weights", "phase_peak.forward").
std::vector<ComparedTerm> PairTerms(const plan::Plan& plan, const std::map<std::string, std::string>& measured);

}  // namespace memstrata::dryrun
