#pragma once
// Parts that many encoders share: products with biases, and a learned query over the patches of an image.

#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

/// Products of a layer with as many heads of keys as of queries: q, k, v and the result's, which has a bias.
void AddPlainAttention(int64_t hidden, bool qkv_bias, ParameterBuilder& build);
/// An MLP of two products with biases.
void AddPlainMlp(int64_t hidden, int64_t intermediate, ParameterBuilder& build);
/// A learned query attends to the patches, and an MLP follows (SigLIP).
void AddAttentionPooling(int64_t hidden, int64_t intermediate, ParameterBuilder& build);

}  // namespace memstrata::plan
