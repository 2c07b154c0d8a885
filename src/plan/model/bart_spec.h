#pragma once
// Encoder-decoders of BART's kind: LayerNorm, biases, positions from a table for each stack.

#include <cstdint>

#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

struct BartSpec {
  int64_t hidden = 0;
  int64_t vocabulary = 0;
  int64_t encoder_layers = 0;
  int64_t decoder_layers = 0;
  int64_t encoder_heads = 0;
  int64_t decoder_heads = 0;
  bool norms_first = false;             // norms before attention and MLP (mBART, Pegasus)
  bool has_position_per_sample = true;  // the encoder's positions are looked up for each sample (BART, mBART)
  bool has_fixed_positions = false;     // tables that no step trains (Pegasus, Marian)
  bool ties_head = true;
  ActivationKind activation = ActivationKind::kSavesInput;
  double dropout = 0;
  double attention_dropout = 0;
  double activation_dropout = 0;
};

}  // namespace memstrata::plan
