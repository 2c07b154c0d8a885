#pragma once
// DeBERTa (v2, v3): a text encoder whose attention adds what it learns of the distances between tokens.

#include <cstdint>

#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

struct DebertaSpec {
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t vocabulary = 0;
  int64_t distance_rows = 0;     // of the table of distances, 0: attention does not know them
  bool shares_products = false;  // distances pass the products of queries and keys
  bool has_content_to_position = false;
  bool has_position_to_content = false;
  ActivationKind activation = ActivationKind::kSavesInput;
  double dropout = 0;
  double attention_dropout = 0;
};

}  // namespace memstrata::plan
