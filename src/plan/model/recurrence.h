#pragma once
// Layers that mix tokens by a state of constant size and are no state space: the gated delta rule (Qwen3-Next), the
// short convolution (LFM2) and the gated linear recurrence (RecurrentGemma). Sizes, tensors, and what a sequence keeps.

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

struct RecurrenceSpec {
  enum class Kind : uint8_t { kNone, kGatedDelta, kShortConvolution, kGatedLinear };
  Kind kind = Kind::kNone;
  int64_t convolution = 0;  // width of the kernel
  bool has_bias = false;    // kShortConvolution
  int64_t width = 0;        // kGatedLinear: channels; kShortConvolution: the hidden size
  int64_t heads = 0;        // kGatedLinear: blocks of its gates; kGatedDelta: heads of values
  int64_t key_heads = 0;    // kGatedDelta
  int64_t key_dim = 0;
  int64_t value_dim = 0;

  int64_t KeyWidth() const { return key_heads * key_dim; }
  int64_t ValueWidth() const { return heads * value_dim; }
  /// Channels that pass the convolution.
  int64_t ConvolvedWidth() const { return kind == Kind::kGatedDelta ? 2 * KeyWidth() + ValueWidth() : width; }
  /// Elements that one sequence keeps in one layer: the last inputs of the convolution and the state.
  int64_t StateElements() const;
  /// Elements that a layer saves for the backward, a token: results of its products, of the convolution and of the
  /// recurrence, and the gated form.
  int64_t SavedEach() const;
};

/// Reads the sizes that `model_type` has; kNone for a type without such layers.
Result<RecurrenceSpec> ReadRecurrence(const ConfigJson& config, const std::string& model_type, int64_t hidden,
                                      int64_t attention_heads);
void AddRecurrence(const RecurrenceSpec& spec, int64_t hidden, ParameterBuilder& build);

}  // namespace memstrata::plan
