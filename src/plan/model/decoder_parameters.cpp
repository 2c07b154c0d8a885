// The exact tensors and buffers of a decoder.

#include <fmt/format.h>

#include "plan/model/decoder_spec.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {
namespace {

void AddLatentAttention(const DecoderSpec& spec, ParameterBuilder& build) {
  const LatentAttentionSpec& latent = spec.latent;
  const int64_t query = spec.heads * (latent.nope_dim + latent.rope_dim);
  if (latent.query_rank > 0) {
    build.Linear("q_a_proj", latent.query_rank, spec.hidden, false, Role::kReplicatedLinear);
    build.Norm("q_a_norm", latent.query_rank, false);
    build.Linear("q_b_proj", query, latent.query_rank, false, Role::kColumn);
  } else {
    build.Linear("q_proj", query, spec.hidden, false, Role::kColumn);
  }
  build.Linear("kv_a_proj", latent.kv_rank + latent.rope_dim, spec.hidden, false, Role::kReplicatedLinear);
  build.Norm("kv_a_norm", latent.kv_rank, false);
  build.Linear("kv_b_proj", spec.heads * (latent.nope_dim + latent.value_dim), latent.kv_rank, false, Role::kColumn);
  build.Linear("o_proj", spec.hidden, spec.heads * latent.value_dim, spec.out_bias, Role::kRow);
}

void AddExperts(const DecoderSpec& spec, ParameterBuilder& build) {
  const ExpertSpec& experts = spec.experts;
  build.Add("router.weight", {experts.count, spec.hidden}, Role::kRouter);
  if (experts.has_score_bias || experts.has_bias) build.Add("router.bias", {experts.count}, Role::kRouter);
  const int64_t first_width = (experts.is_gated ? 2 : 1) * experts.intermediate;
  build.Add("experts.gate_up", {experts.count, first_width, spec.hidden}, Role::kExpert);
  if (experts.has_bias) build.Add("experts.gate_up_bias", {experts.count, first_width}, Role::kExpert);
  build.Add("experts.down", {experts.count, spec.hidden, experts.intermediate}, Role::kExpert);
  if (experts.has_bias) build.Add("experts.down_bias", {experts.count, spec.hidden}, Role::kExpert);
  if (experts.shared_intermediate > 0) {
    build.Linear("shared.gate_proj", experts.shared_intermediate, spec.hidden, false, Role::kColumn);
    build.Linear("shared.up_proj", experts.shared_intermediate, spec.hidden, false, Role::kColumn);
    build.Linear("shared.down_proj", spec.hidden, experts.shared_intermediate, false, Role::kRow);
  }
  if (experts.has_shared_gate) build.Linear("shared_gate", 1, spec.hidden, false, Role::kRouter);
}

void AddAttention(const DecoderSpec& spec, ParameterBuilder& build) {
  if (spec.latent.kv_rank > 0) {
    AddLatentAttention(spec, build);
    return;
  }
  const int64_t q = spec.heads * spec.head_dim;
  const int64_t kv = spec.kv_heads * spec.head_dim;
  if (spec.qkv == QkvLayout::kSeparate) {
    build.Linear("q_proj", spec.gates_attention ? 2 * q : q, spec.hidden, spec.qkv_bias, Role::kColumn);
    build.Linear("k_proj", kv, spec.hidden, spec.qkv_bias, Role::kColumn);
    build.Linear("v_proj", kv, spec.hidden, spec.qkv_bias, Role::kColumn);
  } else {
    build.Linear("qkv_proj", q + 2 * kv, spec.hidden, spec.qkv_bias, Role::kColumn);
  }
  build.Linear("o_proj", spec.hidden, q, spec.out_bias, Role::kRow);
  if (spec.qk_norm && spec.qk_norm_has_heads) {
    build.Add("q_norm.weight", {spec.heads, spec.head_dim}, Role::kNorm);
    build.Add("k_norm.weight", {spec.kv_heads, spec.head_dim}, Role::kNorm);
  } else if (spec.qk_norm) {
    build.Norm("q_norm", spec.qk_norm_is_wide ? q : spec.head_dim, spec.norm_has_bias);
    build.Norm("k_norm", spec.qk_norm_is_wide ? kv : spec.head_dim, spec.norm_has_bias);
  }
  if (spec.has_attention_sinks) build.Add("sinks", {spec.heads}, Role::kNorm);
}

void AddMlp(const DecoderSpec& spec, ParameterBuilder& build) {
  if (spec.fuses_gate_up) {
    build.Linear("gate_up_proj", 2 * spec.intermediate, spec.hidden, spec.mlp_bias, Role::kColumn);
  } else {
    if (spec.is_gated) build.Linear("gate_proj", spec.intermediate, spec.hidden, spec.mlp_bias, Role::kColumn);
    build.Linear("up_proj", spec.intermediate, spec.hidden, spec.mlp_bias, Role::kColumn);
  }
  build.Linear("down_proj", spec.hidden, spec.intermediate, spec.mlp_bias, Role::kRow);
}

// Attention to an image's tokens: norms of queries and keys, and a gate for each of both blocks.
void AddCrossAttention(const DecoderSpec& spec, ParameterBuilder& build) {
  AddAttention(spec, build);
  build.Norm("q_norm", spec.head_dim, false);
  build.Norm("k_norm", spec.head_dim, false);
  for (const char* name : {"attention_gate", "mlp_gate"}) build.Add(name, {1}, Role::kNorm);
}

void AddMixer(const DecoderSpec& spec, int64_t layer, ParameterBuilder& build) {
  const MixerKind kind = spec.MixerOf(layer);
  if (spec.Attends(layer)) AddAttention(spec, build);
  if (kind == MixerKind::kCrossAttention) AddCrossAttention(spec, build);
  if (kind == MixerKind::kStateSpace || kind == MixerKind::kAttentionAndState)
    AddStateSpace(spec.state_space, spec.hidden, build);
  if (kind == MixerKind::kRecurrence) AddRecurrence(spec.recurrence, spec.hidden, build);
}

void AddLayer(const DecoderSpec& spec, int64_t layer, ParameterBuilder& build) {
  const bool has_mlp = spec.HasMlp(layer);
  AddMixer(spec, layer, build);
  if (has_mlp && spec.experts.IsSparse(layer)) {
    AddExperts(spec, build);
  } else if (has_mlp) {
    AddMlp(spec, build);
  }
  if (!spec.norm_has_weight) return;
  if (spec.norms_inputs) build.Norm("input_norm", spec.hidden, spec.norm_has_bias);
  if (spec.norms_inputs && !spec.shares_norm && !spec.has_single_blocks)
    build.Norm("mlp_norm", spec.hidden, spec.norm_has_bias);
  if (spec.norms_outputs) {
    build.Norm("attention_output_norm", spec.hidden, spec.norm_has_bias);
    build.Norm("mlp_output_norm", spec.hidden, spec.norm_has_bias);
  }
}

// A layer like the last one, behind a product that joins the hidden state with the next token's embedding
// (DeepSeek-V3, arXiv 2412.19437, section 2.2). The table and the head are the model's own.
void AddPredictionLayers(const DecoderSpec& spec, ParameterBuilder& build) {
  for (int64_t i = 0; i < spec.prediction_layers; ++i) {
    build.set_prefix(fmt::format("prediction.{}.", i));
    build.Norm("embedding_norm", spec.hidden, spec.norm_has_bias);
    build.Norm("hidden_norm", spec.hidden, spec.norm_has_bias);
    build.Linear("join", spec.hidden, 2 * spec.hidden, false, Role::kColumn);
    AddLayer(spec, spec.layer_count - 1, build);
    build.Norm("norm", spec.hidden, spec.norm_has_bias);
  }
}

}  // namespace

bool IsLinearMatrix(const ParameterSpec& parameter) {
  const bool is_linear =
      parameter.role == Role::kColumn || parameter.role == Role::kRow || parameter.role == Role::kReplicatedLinear;
  return is_linear && parameter.shape.size() == 2;
}

bool IsExpertMatrix(const ParameterSpec& parameter) {
  constexpr size_t kDimensions = 3;  // experts, rows, columns
  return parameter.role == Role::kExpert && parameter.shape.size() == kDimensions;
}

int64_t CountElements(const ParameterSpec& parameter) {
  int64_t count = 1;
  for (const int64_t size : parameter.shape) count *= size;
  return count;
}

int64_t CountElements(const std::vector<ParameterSpec>& parameters) {
  int64_t count = 0;
  for (const ParameterSpec& parameter : parameters) count += CountElements(parameter);
  return count;
}

std::vector<ParameterSpec> DecoderParameters(const DecoderSpec& spec) {
  ParameterBuilder build;
  build.Add("embed_tokens.weight", {spec.vocabulary + spec.extra_token_rows, spec.embedding_width}, Role::kEmbedding);
  if (spec.norms_embedding) build.Norm("embedding_norm", spec.hidden, spec.norm_has_bias);
  if (spec.position_count > 0) build.Add("embed_positions.weight", {spec.position_count, spec.hidden}, Role::kPosition);
  if (spec.embedding_width != spec.hidden) {
    build.Linear("project_out", spec.embedding_width, spec.hidden, false, Role::kReplicatedLinear);
    build.Linear("project_in", spec.hidden, spec.embedding_width, false, Role::kReplicatedLinear);
  }
  for (int64_t layer = 0; layer < spec.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("layers.{}.", layer));
    AddLayer(spec, layer, build);
  }
  build.set_layer(spec.layer_count);
  AddPredictionLayers(spec, build);
  build.set_prefix("");
  if (spec.has_final_norm && spec.norm_has_weight) build.Norm("norm", spec.hidden, spec.norm_has_bias);
  if (!spec.ties_head) build.Linear("lm_head", spec.vocabulary, spec.embedding_width, spec.head_bias, Role::kHead);
  return build.Take();
}

std::vector<BufferSpec> DecoderBuffers(const DecoderSpec& spec) {
  std::vector<BufferSpec> buffers;
  if (spec.rotary_dim > 0 && !spec.rotary.is_of_layers)
    buffers.push_back({"rotary inverse frequencies", {spec.rotary_dim / 2}, 4});
  if (spec.has_local_rotary) {
    buffers.push_back({"local rotary inverse frequencies", {spec.rotary_dim / 2}, 4});
    buffers.push_back({"embedding scale", {1}, 0});
  }
  // OLMo 3 keeps one for layers with a window and one for the others, StableLM and Qwen 2 MoE one more in each layer.
  const bool has_one_each = spec.model_type == "stablelm" || spec.model_type == "qwen2_moe";
  const int64_t more = spec.model_type == "olmo3" ? 1 : has_one_each ? spec.layer_count : 0;
  for (int64_t i = 0; i < more; ++i)
    buffers.push_back({"further rotary inverse frequencies", {spec.rotary_dim / 2}, 4});
  if (spec.model_type == "gpt_bigcode")
    buffers.push_back({"triangular mask", {spec.position_count, spec.position_count}, 1});
  if (!spec.has_gpt2_buffers) return buffers;
  for (int64_t layer = 0; layer < spec.layer_count; ++layer) {
    buffers.push_back({"triangular mask", {spec.position_count, spec.position_count}, 1});
    buffers.push_back({"masked value", {1}, 0});
  }
  return buffers;
}

}  // namespace memstrata::plan
