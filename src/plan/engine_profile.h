#pragma once
// What sets the training engines apart in closed forms. Each number is explained in docs/explanation/planning.md;
// fitted ones come from data/plan_constants.toml.

#include "plan/workload.h"

namespace memstrata::plan {

struct EngineProfile {
  double logit_bytes_each = 12;             // alive for each score where the loss meets the backward
  double gradient_bytes_each = 0;           // 0: as wide as the parameters
  bool has_master_weights = false;          // float32 copies beside 16-bit parameters
  bool saves_unfused = false;               // operators one by one: norms keep float32 copies, gates their activation
  bool keeps_products = false;              // "selective" keeps every other matrix product, not all but the scores
  bool keeps_gathered_in_pipeline = false;  // full sharding inside a pipeline keeps whole weights and gradients
  bool keeps_gathered_inputs = false;       // sequence parallelism: inputs of products stay whole for the backward
};

EngineProfile ProfileOf(const Workload& workload);

/// Pieces of a pipeline schedule that one rank holds at once: micro-batches times the share of its layers in each.
struct PiecesInFlight {
  double pieces = 1;
  double layer_share = 1;  // of the rank's layers in one piece
};
PiecesInFlight InFlight(const Workload& workload, int64_t stage);

}  // namespace memstrata::plan
