#pragma once
// Encoder-decoder models of the T5 kind.

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

struct T5Spec {
  int64_t encoder_layers = 0;
  int64_t decoder_layers = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t vocabulary = 0;
  int64_t bucket_count = 32;
  ActivationKind activation = ActivationKind::kSavesResult;
  bool is_gated = false;
  bool ties_head = true;
  bool has_bias = false;       // of linear layers and norms (Megatron's)
  int64_t position_count = 0;  // of a table of positions, 0: relative positions
  double dropout = 0.1;
};

bool IsT5(const std::string& model_type);
Result<T5Spec> ReadT5(const ConfigJson& config);
std::vector<ParameterSpec> T5Parameters(const T5Spec& spec);

}  // namespace memstrata::plan
