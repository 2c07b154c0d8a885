#pragma once
// State-space layers (Mamba, Mamba-2) in place of attention: sizes, tensors, and the state that a sequence keeps.

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

struct StateSpaceSpec {
  int64_t version = 0;  // 1: Mamba, 2: Mamba-2, 0: none
  int64_t inner = 0;
  int64_t state = 0;        // N, elements of state for each inner channel
  int64_t convolution = 0;  // width of the kernel
  int64_t step_rank = 0;    // Mamba: width that the time step comes through
  int64_t heads = 0;        // Mamba-2
  int64_t groups = 1;       // Mamba-2: of B and C
  bool convolution_bias = true;
  bool projection_bias = false;
  bool out_bias = false;
  bool norms_result = true;  // Mamba-2: before the last product
  bool norms_step = false;   // Jamba norms the time step, B and C

  /// Channels that pass the convolution.
  int64_t ConvolvedWidth() const { return version == 2 ? inner + 2 * groups * state : inner; }
  /// Elements that one sequence keeps in one layer: the last inputs of the convolution and the state.
  int64_t StateElements() const { return (convolution - 1) * ConvolvedWidth() + inner * state; }
  /// Elements that a layer saves for the backward, a token: the input projection's result, the convolved channels, the
  /// time steps, the scan's result and its gated form.
  int64_t SavedEach() const { return 2 * inner + ConvolvedWidth() + (version == 2 ? heads : inner) + 2 * inner; }
};

/// Reads the sizes under the names of Mamba ("state_size"), Jamba ("mamba_d_state") and Nemotron-H ("ssm_state_size").
Result<StateSpaceSpec> ReadStateSpace(const ConfigJson& config, const std::string& model_type, int64_t hidden);
void AddStateSpace(const StateSpaceSpec& spec, int64_t hidden, ParameterBuilder& build);

}  // namespace memstrata::plan
