#pragma once
// The stack of equal layers of a transformer encoder.

#include <vector>

#include "plan/eager/layers.h"
#include "plan/model/encoder_spec.h"

namespace memstrata::plan::eager {

class EncoderLayers {
 public:
  EncoderLayers(ParameterSet& parameters, const EncoderStack& spec);

  Tensor Run(Tape& tape, Tensor hidden, AttentionCall call, CheckpointKind checkpoint) const;

 private:
  struct EncoderLayer {
    LinearLayer query, key, value, output, up, down, gate_up;
    NormLayer attention_norm, mlp_norm;
    Parameter* attention_scale = nullptr;
    Parameter* mlp_scale = nullptr;
  };

  Tensor LayerOfRank(Tape& tape, int64_t index, const Tensor& hidden, const AttentionCall& call) const;
  Tensor Layer(Tape& tape, const EncoderLayer& layer, const Tensor& hidden, const AttentionCall& call) const;
  Tensor Heads(const Tensor& x) const;
  Tensor Attention(Tape& tape, const EncoderLayer& layer, const Tensor& x, const AttentionCall& call) const;
  Tensor Mlp(Tape& tape, const EncoderLayer& layer, const Tensor& x) const;

  EncoderStack spec_;
  std::vector<EncoderLayer> layers_;
};

}  // namespace memstrata::plan::eager
