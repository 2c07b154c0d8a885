// Encoder-decoders with biases and LayerNorm: BART and its relatives, and Whisper.

#include <fmt/format.h>

#include "plan/model/encoder_parts.h"
#include "plan/model/listed_models.h"

namespace memstrata::plan {
namespace {

struct Stacks {
  int64_t hidden = 0;
  int64_t encoder_layers = 0;
  int64_t decoder_layers = 0;
  int64_t encoder_width = 0;
  int64_t decoder_width = 0;
  int64_t heads = 0;
  int64_t vocabulary = 0;
  bool has_key_bias = true;
};

// How the members of BART's family differ.
struct BartFamily {
  std::string_view type;
  int64_t extra_positions;  // rows of the tables of positions for padding; -1: positions are computed, no table
  bool norms_embedding;
  bool norms_end;  // of each stack
  bool has_described_step = false;
  bool norms_first = false;
};

constexpr BartFamily kBartFamilies[] = {
    {"bart", 2, true, false, true},    {"mbart", 2, true, true, true, true}, {"pegasus", 0, false, true, true, true},
    {"marian", 0, false, false, true}, {"blenderbot", 0, false, true},       {"m2m_100", -1, false, true},
};

Result<Stacks> ReadStacks(const ConfigJson& config) {
  Stacks stacks;
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.hidden, config.RequiredInteger("d_model"));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.encoder_layers, config.Layers({"encoder_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.decoder_layers, config.Layers({"decoder_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.encoder_width, config.RequiredInteger("encoder_ffn_dim"));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.decoder_width, config.RequiredInteger("decoder_ffn_dim"));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.heads, config.RequiredInteger("decoder_attention_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(stacks.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_TRY(CheckHeads(stacks.hidden, stacks.heads));
  return stacks;
}

void AddAttention(const char* prefix, const Stacks& stacks, ParameterBuilder& build) {
  for (const char* name : {"k_proj", "v_proj", "q_proj"}) {
    const bool has_bias = *name != 'k' || stacks.has_key_bias;
    build.Linear(fmt::format("{}{}", prefix, name), stacks.hidden, stacks.hidden, has_bias, Role::kColumn);
  }
  build.Linear(fmt::format("{}o_proj", prefix), stacks.hidden, stacks.hidden, true, Role::kRow);
  build.Norm(fmt::format("{}norm", prefix), stacks.hidden, true);
}

void AddLayers(const Stacks& stacks, bool is_decoder, ParameterBuilder& build) {
  const int64_t first = is_decoder ? stacks.encoder_layers : 0;
  for (int64_t i = 0; i < (is_decoder ? stacks.decoder_layers : stacks.encoder_layers); ++i) {
    build.set_layer(first + i);
    build.set_prefix(fmt::format("{}.layers.{}.", is_decoder ? "decoder" : "encoder", i));
    AddAttention("self.", stacks, build);
    if (is_decoder) AddAttention("cross.", stacks, build);
    AddPlainMlp(stacks.hidden, is_decoder ? stacks.decoder_width : stacks.encoder_width, build);
    build.Norm("norm", stacks.hidden, true);
  }
  build.set_prefix(is_decoder ? "decoder." : "encoder.");
}

// The decoder's own tokens and the encoder's, whose number is fixed or the sequence's.
void SetSizes(const Stacks& stacks, int64_t memory_tokens, ModelDescription& model) {
  model.layer_count = stacks.encoder_layers + stacks.decoder_layers;
  model.encoder_layers = stacks.encoder_layers;
  model.hidden = stacks.hidden;
  model.vocabulary = stacks.vocabulary;
  const int64_t head_dim = stacks.hidden / stacks.heads;
  const CacheLayer own{CacheLayer::Kind::kFull, stacks.heads, head_dim, head_dim, 0, 0};
  CacheLayer cross = own;
  if (memory_tokens > 0) cross.kind = CacheLayer::Kind::kFixed, cross.window = memory_tokens;
  for (int64_t i = 0; i < stacks.decoder_layers; ++i) {
    model.cache.push_back(own);
    model.cache.push_back(cross);
  }
}

Result<BartSpec> DescribeSteps(const ConfigJson& config, const BartFamily& family, const Stacks& stacks) {
  BartSpec spec;
  spec.hidden = stacks.hidden;
  spec.vocabulary = stacks.vocabulary;
  spec.encoder_layers = stacks.encoder_layers;
  spec.decoder_layers = stacks.decoder_layers;
  spec.decoder_heads = stacks.heads;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.encoder_heads, config.Integer("encoder_attention_heads", 16));
  MEMSTRATA_TRY(CheckHeads(spec.hidden, spec.encoder_heads));
  spec.norms_first = family.norms_first;
  spec.has_position_per_sample = family.extra_positions > 0;
  spec.has_fixed_positions = family.extra_positions == 0;
  spec.ties_head = config.Flag("tie_word_embeddings", true);
  spec.activation = ActivationOf(config.Text("activation_function").value_or("gelu"));
  spec.dropout = config.Number("dropout").value_or(0.1);
  spec.attention_dropout = config.Number("attention_dropout").value_or(0);
  spec.activation_dropout = config.Number("activation_dropout").value_or(0);
  return spec;
}

}  // namespace

Status ReadBart(const ConfigJson& config, ModelDescription& model) {
  const BartFamily* family = kBartFamilies;
  while (family->type != model.model_type) ++family;
  MEMSTRATA_ASSIGN_OR_RETURN(const Stacks stacks, ReadStacks(config));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.Integer("max_position_embeddings", 1024));
  ParameterBuilder build;
  build.Add("tokens.weight", {stacks.vocabulary, stacks.hidden}, Role::kEmbedding);
  for (const bool is_decoder : {false, true}) {
    build.set_prefix(is_decoder ? "decoder." : "encoder.");
    if (family->extra_positions >= 0)
      build.Add("positions.weight", {model.max_positions + family->extra_positions, stacks.hidden}, Role::kPosition);
    if (family->norms_embedding) build.Norm("embedding_norm", stacks.hidden, true);
    AddLayers(stacks, is_decoder, build);
    if (family->norms_end) build.Norm("last_norm", stacks.hidden, true);
  }
  if (!config.Flag("tie_word_embeddings", true)) {
    build.set_prefix("");
    build.Linear("lm_head", stacks.vocabulary, stacks.hidden, false, Role::kHead);
  }
  model.parameters = build.Take();
  SetSizes(stacks, 0, model);
  const auto skipped = [&](const char* key) { return config.Number(key).value_or(0) > 0; };  // of layers, by chance
  if (!family->has_described_step || skipped("encoder_layerdrop") || skipped("decoder_layerdrop")) return {};
  model.buffers = {{"logits bias", {1, stacks.vocabulary}, 0}};
  MEMSTRATA_ASSIGN_OR_RETURN(model.step, DescribeSteps(config, *family, stacks));
  return {};
}

Status ReadWhisper(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(Stacks stacks, ReadStacks(config));
  stacks.has_key_bias = false;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t mels, config.Integer("num_mel_bins", 80));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t source, config.Integer("max_source_positions", 1500));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.Integer("max_target_positions", 448));
  constexpr int64_t kKernel = 3;
  ParameterBuilder build;
  build.set_prefix("encoder.");
  build.Add("first_convolution.weight", {stacks.hidden, mels, kKernel}, Role::kConvolution);
  build.Add("first_convolution.bias", {stacks.hidden}, Role::kColumnBias);
  build.Add("second_convolution.weight", {stacks.hidden, stacks.hidden, kKernel}, Role::kConvolution);
  build.Add("second_convolution.bias", {stacks.hidden}, Role::kColumnBias);
  build.Add("positions.weight", {source, stacks.hidden}, Role::kPosition);
  AddLayers(stacks, false, build);
  build.Norm("last_norm", stacks.hidden, true);
  build.set_prefix("decoder.");
  build.Add("tokens.weight", {stacks.vocabulary, stacks.hidden}, Role::kEmbedding);
  build.Add("positions.weight", {model.max_positions, stacks.hidden}, Role::kPosition);
  AddLayers(stacks, true, build);
  build.Norm("last_norm", stacks.hidden, true);
  model.parameters = build.Take();
  SetSizes(stacks, source, model);
  return {};
}

}  // namespace memstrata::plan
