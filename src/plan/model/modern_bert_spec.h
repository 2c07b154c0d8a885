#pragma once
// ModernBERT: a text encoder with rotary positions, gated MLPs and windows in most layers.

#include <cstdint>

#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

struct ModernBertSpec {
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t vocabulary = 0;
  int64_t every = 1;  // each n-th layer attends to all tokens, the others to a window
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double mlp_dropout = 0;
};

}  // namespace memstrata::plan
