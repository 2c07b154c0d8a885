#pragma once
// One description for the many decoder-only language models that differ in switches: norm, rotary share, biases,
// gating, residual order. Read from a Hugging Face configuration; lists the exact tensors.

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_spec.h"
#include "plan/model/recurrence.h"
#include "plan/model/state_space.h"

namespace memstrata::plan {

enum class NormKind : uint8_t {
  kRms,
  kRmsWide,  // its weight is multiplied before the result goes back to the narrow format (OLMo 2)
  kRmsPlusOne,
  kLayer,
  kLayerWide,     // computed in float32 and given back in the input's format; it may have no weight (OLMo)
  kLayerInParts,  // the same, operation by operation (Cohere)
  kLayerPlusOne,  // one is added to its weight; autocast runs it in the low precision (Nemotron)
};
constexpr bool IsRootMeanSquare(NormKind kind) {
  return kind == NormKind::kRms || kind == NormKind::kRmsWide || kind == NormKind::kRmsPlusOne;
}
enum class ActivationKind : uint8_t {
  kSavesInput,   // silu, gelu
  kSavesResult,  // relu, tanh
  kGeluNew,      // the tanh form written out in Python
  kQuickGelu,
  kSquaredRelu,
  kGeluInParts,  // a function of its own that saves the input and computes the rest in pieces (BLOOM)
};
/// The kind for a `hidden_act` of Hugging Face.
ActivationKind ActivationOf(const std::string& name);

enum class QkvLayout : uint8_t {
  kSeparate,     // three linear layers
  kFusedSplit,   // one, split along the width (GPT-2)
  kFusedChunk,   // one, split within each head (GPT-NeoX)
  kFusedSlices,  // one, three slices (Phi-3)
  kFusedThirds,  // one, three slices of each head (BLOOM)
  kFusedQuery,   // one, a slice of queries, and keys and values copied out of it (Falcon 7B)
  kFusedGroups,  // one, all three copied out of it, keys and values for each head (Falcon 40B)
  kFusedCopies,  // one, split, and all three copied out of it (CodeGen)
};

/// How transformers 4.57 writes a family's attention.
enum class AttentionForm : uint8_t {
  kCommon,     // through its common interface
  kRepeated,   // shared keys and values are repeated before every kernel (StableLM, Nemotron)
  kBroadcast,  // the kernel stretches them, which only its plain form does (Falcon)
  kAlibi,      // distances are added to the scores by the product itself (BLOOM); in pieces only
  kAddedBias,  // distances are added after it, in float32 (MPT); in pieces only
  kFloat32,    // scores in float32 (GPT-Neo); in pieces only
  kScaled,     // scores in float32, divided and masked (GPT-J); in pieces only
  kMasked,     // the same, masked in place and divided (CodeGen); in pieces only
  kOlder,      // holds its scores and gives the weights back (ELECTRA); in pieces only
};

/// Forms for which transformers has no fused kernel.
constexpr bool IsInPieces(AttentionForm form) {
  switch (form) {
    case AttentionForm::kCommon:
    case AttentionForm::kRepeated:
    case AttentionForm::kBroadcast:
      return false;
    case AttentionForm::kAlibi:
    case AttentionForm::kAddedBias:
    case AttentionForm::kFloat32:
    case AttentionForm::kScaled:
    case AttentionForm::kMasked:
    case AttentionForm::kOlder:
      return true;
  }
  return false;
}

/// How positions turn queries and keys.
struct RotaryForm {
  bool interleaves = false;    // cos and sin are spread over pairs in each layer
  bool is_float32 = false;     // queries and keys are turned in float32
  bool is_of_windows = false;  // layers without a window do not turn, where there is one
  bool is_of_layers = false;   // each layer looks positions up in a table of its own (GPT-J, CodeGen)
  bool copies_table = false;   // … after copying it, and in the format of the keys (GPT-J)
  int64_t table_rows = 0;      // … of so many positions, which its first forward moves to the device
};

/// Routed experts in place of some layers' MLP.
struct ExpertSpec {
  int64_t count = 0;  // 0: none
  int64_t per_token = 0;
  int64_t intermediate = 0;
  int64_t shared_intermediate = 0;  // width of the always-on MLP, 0: none
  bool is_gated = true;
  bool has_shared_gate = false;
  bool has_score_bias = false;  // a correction for each expert, kept with the router
  bool has_bias = false;
  int64_t first_dense_layers = 0;
  int64_t end_layer = 0;  // the first one behind the layers with experts, 0: to the last
  int64_t every = 1;      // every n-th layer has experts
  int64_t offset = -1;    // the first of them, -1: the n-th
  std::vector<int64_t> dense_layers;

  bool IsSparse(int64_t layer) const;
};

/// Keys and values through a narrow latent vector (DeepSeek).
struct LatentAttentionSpec {
  int64_t query_rank = 0;  // 0: a full query projection
  int64_t kv_rank = 0;     // 0: ordinary attention
  int64_t nope_dim = 0;
  int64_t rope_dim = 0;
  int64_t value_dim = 0;
};

/// What mixes tokens in a layer.
enum class MixerKind : uint8_t {
  kAttention,
  kStateSpace,
  kNone,
  kRecurrence,         // a gated delta rule, a short convolution or a gated linear recurrence
  kAttentionAndState,  // both read the same norm (Falcon-H1)
  kCrossAttention,     // to an image's tokens (Llama 3.2 Vision)
};

struct DecoderSpec {
  std::string model_type;
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocabulary = 0;
  int64_t extra_token_rows = 0;  // of the token table alone
  int64_t rotary_dim = 0;        // 0: no rotary embedding
  int64_t position_count = 0;    // rows of a learned position table, 0: none
  int64_t embedding_width = 0;   // width of the token table (OPT-350m projects); normally hidden
  NormKind norm = NormKind::kRms;
  bool norm_has_bias = false;
  bool norm_has_weight = true;
  bool norms_embedding = false;
  bool has_final_norm = true;
  ActivationKind activation = ActivationKind::kSavesInput;
  bool is_gated = true;
  bool fuses_gate_up = false;
  QkvLayout qkv = QkvLayout::kSeparate;
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool head_bias = false;
  bool qk_norm = false;            // per head, before the rotary embedding
  bool qk_norm_has_heads = false;  // one weight for each head's width (Cohere)
  bool qk_norm_is_last = false;    // after the rotary embedding (HunYuan)
  bool parallel_residual = false;  // attention and MLP read the same residual
  bool adds_in_place = false;      // attention's result onto the MLP's (Falcon)
  bool adds_to_residual = false;   // attention's result first, then the MLP's (Cohere)
  bool shares_norm = false;        // … and the same norm
  bool norms_outputs = false;      // extra norms after attention and MLP (Gemma 2)
  bool norms_inputs = true;        // false: only the outputs are normed (OLMo 2)
  bool qk_norm_is_wide = false;    // one norm over all heads instead of one per head
  bool has_attention_sinks = false;
  bool gates_attention = false;  // the query product makes a gate of the same width
  ExpertSpec experts;
  int64_t prediction_layers = 0;  // that foretell further tokens in training (multi-token prediction)
  LatentAttentionSpec latent;
  StateSpaceSpec state_space;
  RecurrenceSpec recurrence;
  std::vector<MixerKind> mixers;   // of each layer; empty: all attention
  bool has_single_blocks = false;  // a layer is a mixer or an MLP, with one norm (Mamba, Nemotron-H)
  bool ties_head = false;
  bool scales_embedding = false;
  bool scales_residual = false;
  bool scales_logits = false;
  bool casts_logits = false;      // given back in float32 (GPT-J)
  bool has_local_rotary = false;  // tables of their own for layers with a window (Gemma 3)
  bool has_gpt2_buffers = false;  // a triangular mask and a scalar in each layer
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  AttentionForm attention_form = AttentionForm::kCommon;
  RotaryForm rotary;
  bool keeps_all_logits = false;  // the class has no way to compute the last ones alone
  bool recomputes = true;         // false: the class takes gradient checkpointing and does not do it (GPT-BigCode)
  bool caps_logits = false;
  bool caps_scores = false;              // attention scores pass a scaled tanh
  bool concatenates_rotary = false;      // Phi-3 joins the turned part with an empty rest
  bool scales_query = false;             // OPT multiplies the queries instead of the scores
  bool has_position_per_sample = false;  // OPT looks positions up for each sample
  int64_t sliding_window = 0;            // 0: none
  std::vector<bool> layer_is_sliding;    // empty: all layers, when there is a window
  std::vector<bool> layer_is_turned;     // whether it uses the rotary embedding; empty: all layers

  MixerKind MixerOf(int64_t layer) const {
    return mixers.empty() ? MixerKind::kAttention : mixers[static_cast<size_t>(layer)];
  }
  /// True where the layer keeps keys and values of the tokens before.
  bool Attends(int64_t layer) const {
    return MixerOf(layer) == MixerKind::kAttention || MixerOf(layer) == MixerKind::kAttentionAndState;
  }
  bool HasMlp(int64_t layer) const { return !has_single_blocks || MixerOf(layer) == MixerKind::kNone; }
  bool IsTurned(int64_t layer) const {
    return rotary_dim > 0 && (layer_is_turned.empty() || layer_is_turned[static_cast<size_t>(layer)]);
  }
  bool IsSliding(int64_t layer) const {
    return sliding_window > 0 && (layer_is_sliding.empty() || layer_is_sliding[static_cast<size_t>(layer)]);
  }
};

/// True for the model types that DecoderSpec can express.
bool IsDecoder(const std::string& model_type);
/// True when the step of such a model can be simulated operation by operation, checked against transformers' code.
bool IsSimulated(const DecoderSpec& spec);
Result<DecoderSpec> ReadDecoder(const ConfigJson& config, const std::string& model_type);
std::vector<ParameterSpec> DecoderParameters(const DecoderSpec& spec);
std::vector<BufferSpec> DecoderBuffers(const DecoderSpec& spec);

}  // namespace memstrata::plan
