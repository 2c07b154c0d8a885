#pragma once
// Which of ggml's types llama.cpp's quantizer gives each tensor of a file, by the mix that the file is named after.
// A mix is a type for most matrices and better ones for those that a model suffers from: the head, values, and the
// second half of the MLP. Source: llama.cpp's quantizer; the tests compare with the bits a weight that llama.cpp
// publishes for Llama 3.1 8B. Falcon's own exceptions are not here.

#include "plan/model/decoder_spec.h"
#include "plan/model/gguf_types.h"
#include "plan/model/parameter_spec.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// What decides the types beside the tensor itself.
struct GgufMixModel {
  int64_t layers = 0;
  int64_t query_groups = 1;  // heads that share a key
  int64_t experts = 0;
  bool ties_head = false;
  bool is_llama_70b = false;  // 80 layers and grouped heads: its values get one type better
};
GgufMixModel MixModelOf(const DecoderSpec* decoder);

/// Bits of one weight of a tensor. A format that is no mix stands for a file in the precision, in which vectors are
/// float32. Rows that a type's blocks do not divide get the type that llama.cpp falls back to.
double GgufBits(const ParameterSpec& parameter, WeightFormat format, Precision precision, const GgufMixModel& model);

/// Of llama.cpp's file of Llama 3.1 8B; 16 for a format that is no mix.
double NominalMixBits(WeightFormat format);

}  // namespace memstrata::plan
