#pragma once
// What one layer saves for the backward, by closed forms; see docs/explanation/planning.md for every formula.

#include "plan/model/model_description.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// Bytes a token that one layer saves on a rank.
struct LayerActivations {
  double replicated_each = 0;  // that tensor parallelism does not divide
  double divided_each = 0;     // that it does, before the division
};
LayerActivations SavedByLayer(const ModelDescription& model, const Workload& workload, int64_t layer);

/// Width of the MLP that one token goes through: of all its experts together.
int64_t InnerWidth(const DecoderSpec& spec, int64_t layer);

}  // namespace memstrata::plan
