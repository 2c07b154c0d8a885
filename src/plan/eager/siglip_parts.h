#pragma once
// What SigLIP has beside CLIP.

#include "plan/eager/layers.h"
#include "plan/model/encoder_spec.h"

namespace memstrata::plan::eager {

/// One learned query attends to all patches, by PyTorch's own attention module, and an MLP follows: [batch, hidden].
Tensor PoolByAttention(Tape& tape, ParameterSet& parameters, const EncoderStack& stack, const Tensor& patches);

}  // namespace memstrata::plan::eager
