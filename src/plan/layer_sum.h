#pragma once
// What the layers of a pipeline stage keep of one micro-batch, in closed forms.

#include <string>

#include "plan/plan.h"

namespace memstrata::plan {

struct LayerSum {
  double bytes = 0;        // of all layers of the stage
  double last_bytes = 0;   // of the last of them
  double rerun_bytes = 0;  // of the largest layer while it runs again, where layers are recomputed
  std::string how;         // the formula of `bytes`, layers that are alike together
  std::string rerun_how;
};

/// Of decoders, encoders and encoder-decoders.
LayerSum SumLayers(const PlanRequest& request, int64_t stage);

/// Tokens of a micro-batch on one rank, before tensor parallelism divides them.
int64_t TokensOnRank(const Workload& workload);
/// The same of the decoder, where an encoder is before it.
int64_t TargetTokens(const PlanRequest& request);
/// Whether the whole inputs of divided products stay for their backward.
bool KeepsGatheredInputs(const Workload& workload);
bool RecomputesAll(const Workload& workload);

}  // namespace memstrata::plan
