#include "plan/model/decoder_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace memstrata::plan {
namespace {

constexpr int64_t kMostMixers = 4096;  // as many layers as are planned for

// Decoders without attention have no heads: layers of one block each.
Result<DecoderSpec> ReadMambaDecoder(const ConfigJson& config, const std::string& model_type) {
  DecoderSpec spec;
  spec.model_type = model_type;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.layer_count, config.RequiredIntegerOf({"num_hidden_layers", "n_layer"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.hidden, config.RequiredIntegerOf({"hidden_size", "d_model"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.state_space, ReadStateSpace(config, model_type, spec.hidden));
  spec.embedding_width = spec.hidden;
  spec.intermediate = spec.state_space.inner;
  spec.heads = std::max<int64_t>(1, spec.state_space.heads);
  spec.kv_heads = 0;
  spec.has_single_blocks = true;
  spec.mixers.assign(static_cast<size_t>(std::min(spec.layer_count, kMostMixers)), MixerKind::kStateSpace);
  spec.ties_head = config.Flag("tie_word_embeddings", model_type == "mamba");
  return spec;
}

// Which layers attend: Jamba by period and offset, Bamba by a list, Nemotron-H by a letter for each layer.
Status ReadMixers(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  if (type != "jamba" && type != "bamba" && type != "nemotron_h") return {};
  MEMSTRATA_ASSIGN_OR_RETURN(spec.state_space, ReadStateSpace(config, type, spec.hidden));
  spec.mixers.assign(static_cast<size_t>(std::min(spec.layer_count, kMostMixers)), MixerKind::kStateSpace);
  if (type == "jamba") {
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t period, config.Integer("attn_layer_period", 8));
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t offset, config.Integer("attn_layer_offset", 4));
    if (period == 0) return Fail(ErrorCode::kInvalidArgument, "attn_layer_period is 0; it is a number of layers.");
    for (size_t i = 0; i < spec.mixers.size(); ++i) {
      if (static_cast<int64_t>(i) % period == offset) spec.mixers[i] = MixerKind::kAttention;
    }
  } else if (type == "bamba") {
    for (const int64_t layer : config.Integers("attn_layer_indices")) {
      if (layer >= 0 && layer < spec.layer_count) spec.mixers[static_cast<size_t>(layer)] = MixerKind::kAttention;
    }
  } else {
    const std::string pattern = config.Text("hybrid_override_pattern").value_or("");
    if (pattern.size() != spec.mixers.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("hybrid_override_pattern names {} layers, num_hidden_layers {}.", pattern.size(),
                              spec.layer_count));
    }
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '*') spec.mixers[i] = MixerKind::kAttention;
      if (pattern[i] == '-') spec.mixers[i] = MixerKind::kNone;
    }
    spec.has_single_blocks = true;
    spec.is_gated = false;
    spec.activation = ActivationKind::kSavesResult;
  }
  spec.rotary_dim = type == "bamba" ? spec.head_dim / 2 : 0;
  return {};
}

// What most of today's decoders share: names of keys and their defaults.
Status ReadCommon(const ConfigJson& config, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.layer_count,
                             config.RequiredIntegerOf({"num_hidden_layers", "n_layer", "num_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.hidden, config.RequiredIntegerOf({"hidden_size", "n_embd"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.heads, config.RequiredIntegerOf({"num_attention_heads", "n_head"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.kv_heads, config.IntegerOf({"num_key_value_heads", "num_kv_heads"}, spec.heads));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate,
                             config.IntegerOf({"intermediate_size", "n_inner", "ffn_dim"}, 4 * spec.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.head_dim, config.Integer("head_dim", 0));
  if (spec.head_dim == 0) {
    if (spec.hidden % spec.heads != 0) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("A hidden size of {} cannot be divided among {} attention heads.", spec.hidden, spec.heads));
    }
    spec.head_dim = spec.hidden / spec.heads;
  }
  if (spec.kv_heads == 0 || spec.heads % spec.kv_heads != 0) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} attention heads cannot be divided among {} key/value heads.", spec.heads, spec.kv_heads));
  }
  spec.embedding_width = spec.hidden;
  spec.rotary_dim = spec.head_dim;
  spec.ties_head = config.Flag("tie_word_embeddings", true);
  spec.attention_dropout = config.Number("attention_dropout").value_or(0);
  const std::string activation =
      config.Text("hidden_act").value_or(config.Text("activation_function").value_or("silu"));
  spec.activation = ActivationOf(config.Text("hidden_activation").value_or(activation));
  return {};
}

int64_t Share(int64_t head_dim, std::optional<double> factor) {
  return static_cast<int64_t>(static_cast<double>(head_dim) * factor.value_or(1.0));
}

Status ReadWindow(const ConfigJson& config, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.sliding_window, config.Integer("sliding_window", 0));
  if (!config.Flag("use_sliding_window", true)) spec.sliding_window = 0;
  const std::vector<std::string> types = config.Texts("layer_types");
  if (types.size() == static_cast<size_t>(spec.layer_count)) {
    for (const std::string& type : types) spec.layer_is_sliding.push_back(type == "sliding_attention");
    return {};
  }
  // One full layer after some with the window: the pattern is the period.
  const bool is_gemma3 = spec.model_type == "gemma3" || spec.model_type == "gemma3_text";
  const int64_t usual = spec.model_type == "gemma2" ? 2 : is_gemma3 ? 6 : spec.model_type == "cohere2" ? 4 : 0;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t period, config.Integer("sliding_window_pattern", usual));
  if (spec.layer_count > ConfigJson::kLargestSize) return {};
  for (int64_t i = 0; period > 0 && i < spec.layer_count; ++i) spec.layer_is_sliding.push_back((i + 1) % period != 0);
  return {};
}

void ApplyGpt2(const ConfigJson& config, DecoderSpec& spec) {
  spec.norm = NormKind::kLayer;
  spec.norm_has_bias = spec.qkv_bias = spec.out_bias = spec.mlp_bias = true;
  spec.is_gated = false;
  spec.qkv = QkvLayout::kFusedSplit;
  spec.rotary_dim = 0;
  spec.has_gpt2_buffers = true;
  spec.embedding_dropout = config.Number("embd_pdrop").value_or(0.1);
  spec.attention_dropout = config.Number("attn_pdrop").value_or(0.1);
  spec.residual_dropout = config.Number("resid_pdrop").value_or(0.1);
}

void ApplyLayerNormRotary(const ConfigJson& config, DecoderSpec& spec) {  // Phi, GPT-NeoX
  spec.norm = NormKind::kLayer;
  spec.norm_has_bias = spec.qkv_bias = spec.out_bias = spec.mlp_bias = true;
  spec.is_gated = false;
  spec.parallel_residual = true;
  std::optional<double> share = config.Number("partial_rotary_factor");
  if (spec.model_type == "phi") {
    spec.shares_norm = spec.head_bias = true;
    spec.embedding_dropout = config.Number("embd_pdrop").value_or(0);
    spec.residual_dropout = config.Number("resid_pdrop").value_or(0);
    spec.ties_head = config.Flag("tie_word_embeddings", false);
    if (!share) share = 0.5;
  } else {
    spec.qkv = QkvLayout::kFusedChunk;
    spec.qkv_bias = spec.out_bias = config.Flag("attention_bias", true);
    spec.parallel_residual = config.Flag("use_parallel_residual", true);
    spec.embedding_dropout = spec.residual_dropout = config.Number("hidden_dropout").value_or(0);
    spec.ties_head = config.Flag("tie_word_embeddings", false);
    if (!share) share = config.Number("rotary_pct").value_or(0.25);
  }
  spec.rotary_dim = Share(spec.head_dim, share);
}

void ApplyOpt(const ConfigJson& config, DecoderSpec& spec) {
  spec.norm = NormKind::kLayer;
  spec.norm_has_bias = true;
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = config.Flag("enable_bias", true);
  spec.is_gated = false;
  spec.rotary_dim = 0;
  spec.residual_dropout = config.Number("dropout").value_or(0.1);
  spec.scales_query = spec.has_position_per_sample = true;
  spec.has_final_norm = config.Flag("do_layer_norm_before", true) && !config.Flag("_remove_final_layer_norm", false);
}

Status ReadExperts(const ConfigJson& config, DecoderSpec& spec) {
  ExpertSpec& experts = spec.experts;
  MEMSTRATA_ASSIGN_OR_RETURN(experts.count,
                             config.IntegerOf({"num_local_experts", "n_routed_experts", "num_experts"}, 0));
  if (experts.count == 0) return {};
  MEMSTRATA_ASSIGN_OR_RETURN(experts.per_token, config.IntegerOf({"num_experts_per_tok", "experts_per_token"}, 2));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.intermediate, config.Integer("moe_intermediate_size", spec.intermediate));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.first_dense_layers, config.Integer("first_k_dense_replace", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.every, config.IntegerOf({"decoder_sparse_step", "moe_layer_freq"}, 1));
  if (experts.every == 0) experts.every = 1;
  if (spec.model_type == "jamba") {
    MEMSTRATA_ASSIGN_OR_RETURN(experts.every, config.Integer("expert_layer_period", 2));
    MEMSTRATA_ASSIGN_OR_RETURN(experts.offset, config.Integer("expert_layer_offset", 1));
    if (experts.every == 0) experts.every = 1;
  }
  experts.dense_layers = config.Integers("mlp_only_layers");
  if (experts.per_token == 0 || experts.per_token > experts.count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} experts per token cannot be chosen from {}.", experts.per_token, experts.count));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t shared_count, config.Integer("n_shared_experts", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.shared_intermediate,
                             config.Integer("shared_expert_intermediate_size", shared_count * experts.intermediate));
  experts.has_shared_gate = spec.model_type == "qwen2_moe" || spec.model_type == "qwen3_next";
  experts.has_score_bias = spec.model_type == "deepseek_v3" || spec.model_type == "glm4_moe";
  experts.has_bias = spec.model_type == "gpt_oss";
  return {};
}

Status ReadLatentAttention(const ConfigJson& config, DecoderSpec& spec) {
  LatentAttentionSpec& latent = spec.latent;
  MEMSTRATA_ASSIGN_OR_RETURN(latent.kv_rank, config.Integer("kv_lora_rank", 0));
  if (latent.kv_rank == 0) return {};
  MEMSTRATA_ASSIGN_OR_RETURN(latent.query_rank, config.Integer("q_lora_rank", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(latent.nope_dim, config.RequiredInteger("qk_nope_head_dim"));
  MEMSTRATA_ASSIGN_OR_RETURN(latent.rope_dim, config.RequiredInteger("qk_rope_head_dim"));
  MEMSTRATA_ASSIGN_OR_RETURN(latent.value_dim, config.RequiredInteger("v_head_dim"));
  return {};
}

// Decoders whose step is not simulated, where they differ from Llama.
void ApplyWiderFamily(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  if (type == "olmo2" || type == "olmo3" || type == "exaone4") {
    spec.norms_inputs = false;
    spec.norms_outputs = spec.qk_norm = true;
    spec.qk_norm_is_wide = type != "exaone4";
  }
  if (type == "gemma3_text") {
    spec.norm = NormKind::kRmsPlusOne;
    spec.scales_embedding = spec.norms_outputs = spec.qk_norm = true;
    spec.ties_head = config.Flag("tie_word_embeddings", true);
  }
  if (type == "qwen3_moe" || type == "glm4_moe" || type == "olmoe") {
    spec.qk_norm = type != "glm4_moe" || config.Flag("use_qk_norm", false);
    spec.qk_norm_is_wide = type == "olmoe";
  }
  if (type == "qwen2_moe") spec.qkv_bias = config.Flag("qkv_bias", true);
  if (type == "glm4_moe") spec.qkv_bias = config.Flag("attention_bias", false), spec.out_bias = false;
  if (type == "gpt_oss") {
    spec.qkv_bias = spec.out_bias = config.Flag("attention_bias", true);
    spec.has_attention_sinks = true;
  }
  if (type == "falcon") {  // one norm for both blocks (7B) or one each (40B); one or few key/value heads
    spec.norm = NormKind::kLayer;
    spec.norm_has_bias = spec.parallel_residual = true;
    spec.shares_norm = !config.Flag("new_decoder_architecture", false);
    spec.is_gated = false;
    spec.qkv_bias = spec.out_bias = spec.mlp_bias = config.Flag("bias", false);
    spec.ties_head = config.Flag("tie_word_embeddings", true);
    spec.activation = ActivationKind::kSavesInput;
    if (config.Flag("multi_query", true) && spec.shares_norm) spec.kv_heads = 1;
  }
  if (type == "cohere") {
    spec.norm = NormKind::kLayer;
    spec.parallel_residual = spec.shares_norm = true;
    spec.ties_head = config.Flag("tie_word_embeddings", true);
  }
  if (type == "granite" || type == "smollm3") spec.ties_head = config.Flag("tie_word_embeddings", type == "smollm3");
}

Status ApplyFamily(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  if (type == "gpt2") {
    ApplyGpt2(config, spec);
    MEMSTRATA_ASSIGN_OR_RETURN(spec.position_count, config.IntegerOf({"n_positions", "n_ctx"}, 1024));
  } else if (type == "phi" || type == "gpt_neox") {
    ApplyLayerNormRotary(config, spec);
  } else if (type == "opt") {
    ApplyOpt(config, spec);
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t positions, config.Integer("max_position_embeddings", 2048));
    spec.position_count = positions + 2;  // OPT keeps two rows for padding
    MEMSTRATA_ASSIGN_OR_RETURN(spec.embedding_width, config.Integer("word_embed_proj_dim", spec.hidden));
  } else if (type == "gemma" || type == "gemma2") {
    spec.norm = NormKind::kRmsPlusOne;
    spec.scales_embedding = true;
    spec.norms_outputs = type == "gemma2";
    spec.caps_logits = type == "gemma2" && config.Number("final_logit_softcapping").has_value();
    spec.caps_scores = type == "gemma2" && config.Number("attn_logit_softcapping").has_value();
    if (type == "gemma2") MEMSTRATA_TRY(ReadWindow(config, spec));
  } else if (type == "phi3") {
    spec.qkv = QkvLayout::kFusedSlices;
    spec.fuses_gate_up = spec.concatenates_rotary = true;
    spec.ties_head = config.Flag("tie_word_embeddings", false);
    spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor"));
    spec.embedding_dropout = config.Number("embd_pdrop").value_or(0);
    spec.residual_dropout = config.Number("resid_pdrop").value_or(0);
    MEMSTRATA_TRY(ReadWindow(config, spec));
  } else if (type == "starcoder2" || type == "stablelm") {
    spec.norm = NormKind::kLayer;
    spec.norm_has_bias = true;
    const bool bias = config.Flag("use_bias", type == "starcoder2");
    spec.qkv_bias = config.Flag("use_qkv_bias", bias);
    spec.out_bias = spec.mlp_bias = bias;
    spec.is_gated = type == "stablelm";
    if (type == "stablelm")
      spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor").value_or(0.25));
    spec.ties_head = config.Flag("tie_word_embeddings", type == "starcoder2");
    spec.residual_dropout = type == "starcoder2" ? config.Number("residual_dropout").value_or(0) : 0;
  } else {  // llama, mistral, qwen2, qwen3 and their relatives
    const bool bias = config.Flag("attention_bias", false);
    spec.qkv_bias = type == "qwen2" || bias;
    spec.out_bias = bias;
    spec.mlp_bias = config.Flag("mlp_bias", false);
    spec.qk_norm = type == "qwen3";
    spec.ties_head = config.Flag("tie_word_embeddings", false);
    if (type != "llama") MEMSTRATA_TRY(ReadWindow(config, spec));
    if (type == "qwen2" && !config.Flag("use_sliding_window", false)) spec.sliding_window = 0;
    MEMSTRATA_TRY(ReadExperts(config, spec));
    MEMSTRATA_TRY(ReadMixers(config, spec));
    MEMSTRATA_TRY(ReadLatentAttention(config, spec));
    ApplyWiderFamily(config, spec);
  }
  return {};
}

}  // namespace

ActivationKind ActivationOf(const std::string& name) {
  if (name == "gelu_new" || name == "gelu_fast") return ActivationKind::kGeluNew;
  if (name == "quick_gelu") return ActivationKind::kQuickGelu;
  if (name == "relu" || name == "tanh" || name == "sigmoid") return ActivationKind::kSavesResult;
  return ActivationKind::kSavesInput;
}

namespace {

constexpr std::string_view kSimulatedTypes[] = {"llama", "mistral", "qwen2", "qwen3",    "gemma",      "gemma2",  "phi",
                                                "phi3",  "gpt2",    "opt",   "gpt_neox", "starcoder2", "stablelm"};
constexpr std::string_view kDescribedTypes[] = {
    "mixtral",      "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3", "kimi_k2",    "olmo2",
    "olmo3",        "olmoe",     "exaone4",   "falcon",      "gemma3_text", "glm4_moe",   "gpt_oss",
    "cohere",       "granite",   "smollm3",   "ministral",   "deepseek",    "minimax_m2", "mamba",
    "falcon_mamba", "mamba2",    "jamba",     "bamba",       "nemotron_h"};

bool Contains(std::span<const std::string_view> types, const std::string& type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

bool ExpertSpec::IsSparse(int64_t layer) const {
  if (count == 0 || layer < first_dense_layers) return false;
  if (std::find(dense_layers.begin(), dense_layers.end(), layer) != dense_layers.end()) return false;
  return every == 1 || layer % every == (offset < 0 ? every - 1 : offset);
}

bool IsDecoder(const std::string& type) { return Contains(kSimulatedTypes, type) || Contains(kDescribedTypes, type); }

bool IsSimulated(const DecoderSpec& spec) {
  // A model without a final norm (OPT 350M) orders its norms in another way.
  return Contains(kSimulatedTypes, spec.model_type) && spec.experts.count == 0 && spec.has_final_norm &&
         spec.embedding_width == spec.hidden;
}

Result<DecoderSpec> ReadDecoder(const ConfigJson& config, const std::string& model_type) {
  if (model_type == "mamba" || model_type == "falcon_mamba" || model_type == "mamba2")
    return ReadMambaDecoder(config, model_type);
  DecoderSpec spec;
  spec.model_type = model_type;
  MEMSTRATA_TRY(ReadCommon(config, spec));
  MEMSTRATA_TRY(ApplyFamily(config, spec));
  return spec;
}

}  // namespace memstrata::plan
