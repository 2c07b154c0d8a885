#pragma once
// What tells one family of decoders from another, as one row each: keys of the configuration that switch a part on,
// and what holds without them. A family is known only by its row; sizes of its tensors are checked against
// transformers' own by tests/oracle/model_counts.jsonl.

#include <string_view>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

/// A key that switches a part on, and what holds without the key. No key: always so.
struct Switch {
  std::string_view key;
  bool otherwise = false;

  bool Read(const ConfigJson& config) const { return key.empty() ? otherwise : config.Flag(key, otherwise); }
};
inline constexpr Switch kAlways{"", true};
inline constexpr Switch kNever{"", false};

/// Of queries, keys and values; of attention's result; of the MLP.
struct Biases {
  Switch qkv{"attention_bias"};
  Switch out{"attention_bias"};
  Switch mlp{"mlp_bias"};
};

enum class NormPlace : uint8_t { kBefore, kAfter, kBoth };    // of attention and MLP
enum class QkNorm : uint8_t { kNone, kHead, kWide, kHeads };  // of queries and keys: one head's width, or all heads'
enum class PositionKind : uint8_t { kRotary, kLearned, kNone };

/// Which layers see only a window of earlier tokens, where `layer_types` does not say.
struct WindowRule {
  enum class Kind : uint8_t {
    kNone,       // no layer, whatever `sliding_window` says
    kAll,        // every layer, when there is a window
    kPeriod,     // all but each n-th (`sliding_window_pattern`)
    kFromLayer,  // from `max_window_layers` on, when `use_sliding_window`
    kChunked,    // `attention_chunk_size`, in all but each n-th (Llama 4)
  };
  Kind kind = Kind::kNone;
  int64_t usual_tokens = 0;  // the class's default, where the configuration has no such key
  int64_t usual_period = 0;  // … of the period, or of the first layer
};

struct DecoderFamily {
  std::string_view type;  // `model_type`
  bool is_simulated = false;
  bool runs_experts_singly = false;  // one after another, each a linear layer of its own
  NormKind norm = NormKind::kRms;
  bool norm_has_bias = false;
  bool norm_has_weight = true;
  NormPlace norm_place = NormPlace::kBefore;
  bool is_parallel = false;  // attention and MLP read the same norm of the same residual
  PositionKind position = PositionKind::kRotary;
  QkNorm qk_norm = QkNorm::kNone;
  Switch has_qk_norm = kAlways;  // where qk_norm is not kNone
  Biases biases = {};
  Switch head_bias = kNever;
  Switch ties_head = {"tie_word_embeddings"};
  std::string_view usual_activation = "silu";  // where the configuration names none
  QkvLayout qkv = QkvLayout::kSeparate;
  bool is_gated = true;
  bool fuses_gate_up = false;
  bool scales_embedding = false;
  bool norms_embedding = false;
  bool scales_residual = false;  // results of both blocks are multiplied before they are added
  bool scales_logits = false;
  bool keeps_all_logits = false;  // the class cannot compute the last ones alone
  AttentionForm attention_form = AttentionForm::kCommon;
  RotaryForm rotary = {};
  int64_t usual_width = 0;     // of the MLP in hidden sizes; 0: the configuration must say
  int64_t usual_head_dim = 0;  // where the configuration has no such key; 0: the hidden size's share
  WindowRule window = {};
  Status (*special)(const ConfigJson&, DecoderSpec&) = nullptr;  // what no switch says
};

/// Nothing for a type that is not known.
const DecoderFamily* FindDecoderFamily(std::string_view type);
/// Sets the switches of `family` as the configuration has them.
void ApplySwitches(const DecoderFamily& family, const ConfigJson& config, DecoderSpec& spec);
/// Which layers have a window, and of how many tokens.
Status ReadWindow(const DecoderFamily& family, const ConfigJson& config, DecoderSpec& spec);

// What no switch says, each in its own file.
Status ApplyGpt2(const ConfigJson& config, DecoderSpec& spec);
Status ApplyPhi(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGptNeox(const ConfigJson& config, DecoderSpec& spec);
Status ApplyOpt(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGemma2(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGemma3(const ConfigJson& config, DecoderSpec& spec);
Status ApplySmollm3(const ConfigJson& config, DecoderSpec& spec);
Status ApplyPhi3(const ConfigJson& config, DecoderSpec& spec);
Status ApplyStarcoder2(const ConfigJson& config, DecoderSpec& spec);
Status ApplyStablelm(const ConfigJson& config, DecoderSpec& spec);
Status ApplyFalcon(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGptOss(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGptBigcode(const ConfigJson& config, DecoderSpec& spec);
Status ApplyQwen1(const ConfigJson& config, DecoderSpec& spec);
Status ApplyCohere(const ConfigJson& config, DecoderSpec& spec);
Status ApplyJoinedRotary(const ConfigJson& config, DecoderSpec& spec);
Status ApplySeedOss(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGptNeo(const ConfigJson& config, DecoderSpec& spec);
Status ApplyGptj(const ConfigJson& config, DecoderSpec& spec);
Status ApplyHunYuan(const ConfigJson& config, DecoderSpec& spec);
Status ApplyMllama(const ConfigJson& config, DecoderSpec& spec);

}  // namespace memstrata::plan
