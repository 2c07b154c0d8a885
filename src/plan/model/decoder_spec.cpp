#include "plan/model/decoder_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/decoder_family.h"
#include "plan/model/decoder_readers.h"

namespace memstrata::plan {
namespace {

// Width of one head, and how heads are shared.
Status ReadHeads(const ConfigJson& config, int64_t usual_head_dim, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.heads,
                             config.RequiredIntegerOf({"num_attention_heads", "n_head", "n_heads", "num_heads"}));
  MEMSTRATA_ASSIGN_OR_RETURN(
      spec.kv_heads, config.IntegerOf({"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}, spec.heads));
  const std::initializer_list<std::string_view> width_keys = {"head_dim", "kv_channels", "attention_head_dim"};
  if (config.HasOneOf(width_keys)) {
    MEMSTRATA_ASSIGN_OR_RETURN(spec.head_dim, config.RequiredIntegerOf(width_keys));
  } else if (usual_head_dim > 0 && !config.Mentions("head_dim")) {
    spec.head_dim = usual_head_dim;
  } else {
    MEMSTRATA_TRY(CheckHeads(spec.hidden, spec.heads));
    spec.head_dim = spec.hidden / spec.heads;
  }
  if (spec.kv_heads > 0 && spec.heads % spec.kv_heads == 0) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} attention heads cannot be divided among {} key/value heads.", spec.heads, spec.kv_heads));
}

Status ReadWidth(const ConfigJson& config, int64_t usual_width, DecoderSpec& spec) {
  if (spec.model_type == "qwen3_5_moe_text") {  // every layer has experts
    MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, config.RequiredInteger("moe_intermediate_size"));
    return {};
  }
  const std::initializer_list<std::string_view> keys = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size",
                                                        "block_ff_dim"};
  if (usual_width > 0 && !config.HasOneOf(keys)) {
    if (spec.hidden > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A hidden size of {}.", spec.hidden));
    spec.intermediate = usual_width * spec.hidden;
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, config.RequiredIntegerOf(keys));
  return {};
}

// Products of a few sizes stay in 64 bits; what they make is judged when the tensors are listed.
Status CheckSizes(const DecoderSpec& spec) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  for (const int64_t size :
       {spec.hidden, spec.heads, spec.kv_heads, spec.head_dim, spec.vocabulary, spec.intermediate}) {
    if (size > kLargest) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("A size of {}: a model of more than 2^50 parameters is not planned.", size));
    }
  }
  return {};
}

// What all decoders have, under the names that they have for it.
Status ReadCommon(const ConfigJson& config, int64_t usual_head_dim, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.layer_count,
                             config.Layers({"num_hidden_layers", "n_layer", "num_layers", "n_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.hidden, config.RequiredIntegerOf({"hidden_size", "n_embd", "d_model", "n_embed"}));
  MEMSTRATA_TRY(ReadHeads(config, usual_head_dim, spec));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.vocabulary, config.RequiredIntegerOf({"vocab_size", "padded_vocab_size"}));
  spec.embedding_width = spec.hidden;
  spec.rotary_dim = spec.head_dim;
  spec.attention_dropout = config.Number("attention_dropout").value_or(0);
  return {};
}

bool IsMamba(const std::string& type) { return type == "mamba" || type == "falcon_mamba" || type == "mamba2"; }

}  // namespace

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

ActivationKind ActivationOf(const std::string& name) {
  if (name == "gelu_new" || name == "gelu_fast") return ActivationKind::kGeluNew;
  if (name == "relu2") return ActivationKind::kSquaredRelu;
  if (name == "bloom_gelu") return ActivationKind::kGeluInParts;
  if (name == "quick_gelu") return ActivationKind::kQuickGelu;
  if (name == "relu" || name == "tanh" || name == "sigmoid") return ActivationKind::kSavesResult;
  return ActivationKind::kSavesInput;
}

bool ExpertSpec::IsSparse(int64_t layer) const {
  if (count == 0 || layer < first_dense_layers || (end_layer > 0 && layer >= end_layer)) return false;
  if (std::find(dense_layers.begin(), dense_layers.end(), layer) != dense_layers.end()) return false;
  return every == 1 || layer % every == (offset < 0 ? every - 1 : offset);
}

bool IsDecoder(const std::string& type) { return FindDecoderFamily(type) != nullptr || IsMamba(type); }

namespace {

// Each expert of each layer is run by itself; more of them would take a second a step, and a plan tries many steps.
constexpr int64_t kMostSingleExperts = 1536;
bool HasFewExperts(const DecoderSpec& spec) { return spec.experts.count * spec.layer_count <= kMostSingleExperts; }

}  // namespace

bool IsSimulated(const DecoderSpec& spec) {
  // A model without a final norm (OPT 350M) orders its norms in another way.
  const DecoderFamily* family = FindDecoderFamily(spec.model_type);
  return family != nullptr && family->is_simulated &&
         (spec.experts.count == 0 || (family->runs_experts_singly && HasFewExperts(spec))) && spec.has_final_norm &&
         spec.embedding_width == spec.hidden &&
         !(spec.attention_form == AttentionForm::kBroadcast && spec.rotary_dim == 0);  // Falcon with ALiBi
}

Result<DecoderSpec> ReadDecoder(const ConfigJson& config, const std::string& model_type) {
  if (IsMamba(model_type)) return ReadMambaDecoder(config, model_type);
  const DecoderFamily* known = FindDecoderFamily(model_type);
  const DecoderFamily& family = known != nullptr ? *known : *FindDecoderFamily("llama");
  DecoderSpec spec;
  spec.model_type = model_type;
  MEMSTRATA_TRY(ReadCommon(config, family.usual_head_dim, spec));
  ApplySwitches(family, config, spec);
  if (family.position == PositionKind::kLearned) {
    MEMSTRATA_ASSIGN_OR_RETURN(spec.position_count,
                               config.IntegerOf({"max_position_embeddings", "n_positions", "n_ctx"}, 1024));
  }
  if (model_type == "dbrx") {
    MEMSTRATA_TRY(ReadDbrx(config, spec));
    MEMSTRATA_TRY(CheckSizes(spec));
    return spec;
  }
  MEMSTRATA_TRY(ReadWidth(config, family.usual_width, spec));
  MEMSTRATA_TRY(CheckSizes(spec));
  MEMSTRATA_TRY(ReadWindow(family, config, spec));
  if (family.special != nullptr) MEMSTRATA_TRY(family.special(config, spec));
  MEMSTRATA_TRY(ReadExperts(config, spec));
  MEMSTRATA_TRY(ReadMixers(config, spec));
  MEMSTRATA_TRY(ReadLatentAttention(config, spec));
  return spec;
}

}  // namespace memstrata::plan
