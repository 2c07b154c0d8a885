// What a family has that no switch of its row says.

#include <fmt/format.h>

#include "plan/model/decoder_family.h"

namespace memstrata::plan {
namespace {

int64_t Share(int64_t head_dim, double factor) { return static_cast<int64_t>(static_cast<double>(head_dim) * factor); }

void ReadGpt2Dropouts(const ConfigJson& config, DecoderSpec& spec) {
  spec.embedding_dropout = config.Number("embd_pdrop").value_or(0.1);
  spec.attention_dropout = config.Number("attn_pdrop").value_or(0.1);
  spec.residual_dropout = config.Number("resid_pdrop").value_or(0.1);
}

}  // namespace

Status ApplyGptj(const ConfigJson& config, DecoderSpec& spec) {
  spec.embedding_dropout = config.Number("embd_pdrop").value_or(0);
  spec.attention_dropout = config.Number("attn_pdrop").value_or(0);
  spec.residual_dropout = config.Number("resid_pdrop").value_or(0);
  MEMSTRATA_ASSIGN_OR_RETURN(spec.rotary_dim, config.Integer("rotary_dim", 64));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.rotary.table_rows, config.IntegerOf({"n_positions", "n_ctx"}, 2048));
  spec.casts_logits = true;
  return {};
}

Status ApplyHunYuan(const ConfigJson&, DecoderSpec& spec) {
  spec.qk_norm_is_last = true;
  return {};
}

Status ApplyGpt2(const ConfigJson& config, DecoderSpec& spec) {
  spec.has_gpt2_buffers = true;
  ReadGpt2Dropouts(config, spec);
  return {};
}

Status ApplyPhi(const ConfigJson& config, DecoderSpec& spec) {
  spec.embedding_dropout = config.Number("embd_pdrop").value_or(0);
  spec.residual_dropout = config.Number("resid_pdrop").value_or(0);
  spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor").value_or(0.5));
  return {};
}

Status ApplyGptNeox(const ConfigJson& config, DecoderSpec& spec) {
  spec.parallel_residual = config.Flag("use_parallel_residual", true);
  spec.embedding_dropout = spec.residual_dropout = config.Number("hidden_dropout").value_or(0);
  const double share = config.Number("partial_rotary_factor").value_or(config.Number("rotary_pct").value_or(0.25));
  spec.rotary_dim = Share(spec.head_dim, share);
  return {};
}

Status ApplyOpt(const ConfigJson& config, DecoderSpec& spec) {
  spec.position_count += 2;  // OPT keeps two rows for padding
  MEMSTRATA_ASSIGN_OR_RETURN(spec.embedding_width, config.Integer("word_embed_proj_dim", spec.hidden));
  spec.residual_dropout = config.Number("dropout").value_or(0.1);
  spec.scales_query = spec.has_position_per_sample = true;
  spec.has_final_norm = config.Flag("do_layer_norm_before", true) && !config.Flag("_remove_final_layer_norm", false);
  return {};
}

Status ApplyGemma2(const ConfigJson& config, DecoderSpec& spec) {
  // The class caps both where the configuration has no such key; null switches a cap off.
  const auto caps = [&](const char* key) { return !config.Mentions(key) || config.Number(key).has_value(); };
  spec.caps_logits = caps("final_logit_softcapping");
  spec.caps_scores = caps("attn_logit_softcapping");
  return {};
}

Status ApplyGemma3(const ConfigJson& config, DecoderSpec& spec) {
  spec.caps_logits = config.Number("final_logit_softcapping").has_value();
  spec.has_local_rotary = true;
  return {};
}

// Each n-th layer goes without the rotary embedding.
Status ApplySmollm3(const ConfigJson& config, DecoderSpec& spec) {
  const std::vector<int64_t> turned = config.Integers("no_rope_layers");  // 1: turned, in spite of its name
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t period, config.Integer("no_rope_layer_interval", 4));
  if (!turned.empty() && static_cast<int64_t>(turned.size()) != spec.layer_count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"no_rope_layers\" names {} layers, and there are {}.", turned.size(), spec.layer_count));
  }
  for (int64_t i = 0; i < spec.layer_count; ++i) {
    const bool is_turned = turned.empty() ? period == 0 || (i + 1) % period != 0 : turned[static_cast<size_t>(i)] != 0;
    spec.layer_is_turned.push_back(is_turned);
  }
  return {};
}

Status ApplyPhi3(const ConfigJson& config, DecoderSpec& spec) {
  spec.concatenates_rotary = true;
  spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor").value_or(1));
  spec.embedding_dropout = config.Number("embd_pdrop").value_or(0);
  spec.residual_dropout = config.Number("resid_pdrop").value_or(0);
  return {};
}

Status ApplyStarcoder2(const ConfigJson& config, DecoderSpec& spec) {
  spec.residual_dropout = config.Number("residual_dropout").value_or(0);
  return {};
}

Status ApplyStablelm(const ConfigJson& config, DecoderSpec& spec) {
  spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor").value_or(0.25));
  return {};
}

// One norm for both blocks (7B), one each (40B) or one after the other; one or few key/value heads.
Status ApplyFalcon(const ConfigJson& config, DecoderSpec& spec) {
  const bool is_new = config.Flag("new_decoder_architecture", false);
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t norms, config.Integer("num_ln_in_parallel_attn", is_new ? 2 : 1));
  spec.parallel_residual = is_new || config.Flag("parallel_attn", true);
  spec.shares_norm = spec.parallel_residual && norms == 1;
  spec.activation = ActivationKind::kSavesInput;
  spec.adds_in_place = spec.parallel_residual;
  if (config.Flag("alibi", false)) spec.rotary_dim = 0;
  spec.residual_dropout = config.Number("hidden_dropout").value_or(0);
  spec.qkv = QkvLayout::kFusedGroups;
  if (is_new) return {};
  const bool shares_all = config.Flag("multi_query", true);
  spec.kv_heads = shares_all ? 1 : spec.heads;
  spec.qkv = shares_all ? QkvLayout::kFusedQuery : QkvLayout::kFusedThirds;
  return {};
}

Status ApplyGptOss(const ConfigJson&, DecoderSpec& spec) {
  spec.has_attention_sinks = true;
  return {};
}

Status ApplyGptBigcode(const ConfigJson& config, DecoderSpec& spec) {
  if (config.Flag("multi_query", true)) spec.kv_heads = 1;
  spec.recomputes = false;
  ReadGpt2Dropouts(config, spec);
  return {};
}

Status ApplyCohere(const ConfigJson&, DecoderSpec& spec) {
  spec.adds_to_residual = true;
  return {};
}

// Nemotron and GLM turn a part of each head and join it with the rest.
Status ApplyJoinedRotary(const ConfigJson& config, DecoderSpec& spec) {
  spec.rotary_dim = Share(spec.head_dim, config.Number("partial_rotary_factor").value_or(0.5));
  spec.concatenates_rotary = true;
  return {};
}

Status ApplySeedOss(const ConfigJson& config, DecoderSpec& spec) {
  spec.attention_dropout = config.Number("attention_dropout").value_or(0.1);
  spec.residual_dropout = config.Number("residual_dropout").value_or(0.1);
  return {};
}

Status ApplyGptNeo(const ConfigJson& config, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.position_count, config.Integer("max_position_embeddings", 2048));
  spec.has_gpt2_buffers = true;
  spec.embedding_dropout = config.Number("embed_dropout").value_or(0);
  spec.residual_dropout = config.Number("resid_dropout").value_or(0);
  return {};
}

Status ApplyQwen1(const ConfigJson&, DecoderSpec& spec) {
  spec.intermediate /= 2;  // the configuration counts both halves of the gated MLP
  return {};
}

Status ApplyMllama(const ConfigJson& config, DecoderSpec& spec) {
  constexpr int64_t kImageTokenRows = 8;  // of the token table, not of the head
  spec.extra_token_rows = kImageTokenRows;
  spec.mixers.assign(static_cast<size_t>(spec.layer_count), MixerKind::kAttention);
  for (const int64_t layer : config.Integers("cross_attention_layers")) {
    if (layer < 0 || layer >= spec.layer_count) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"cross_attention_layers\" names layer {} of {}.", layer, spec.layer_count));
    }
    spec.mixers[static_cast<size_t>(layer)] = MixerKind::kCrossAttention;
  }
  return {};
}

}  // namespace memstrata::plan
