// Text encoders that differ from BERT in what their layers share or replace: ALBERT, ELECTRA, ModernBERT, DeBERTa.
// The head of a masked language model is there when `architectures` names one.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/encoder_parts.h"
#include "plan/model/listed_models.h"

namespace memstrata::plan {
namespace {

struct TextSizes {
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t vocabulary = 0;
  int64_t embedding = 0;  // width of the tables
  int64_t token_types = 0;
};

// `usual_embedding`: 0 for the hidden size.
Result<TextSizes> ReadSizes(const ConfigJson& config, int64_t usual_token_types, int64_t usual_embedding,
                            ModelDescription& model) {
  TextSizes sizes;
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.layer_count, config.Layers({"num_hidden_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.hidden, config.RequiredInteger("hidden_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.intermediate, config.RequiredInteger("intermediate_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.embedding,
                             config.Integer("embedding_size", usual_embedding > 0 ? usual_embedding : sizes.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.token_types, config.Integer("type_vocab_size", usual_token_types));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.Integer("max_position_embeddings", 512));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t heads, config.RequiredInteger("num_attention_heads"));
  MEMSTRATA_TRY(CheckHeads(sizes.hidden, heads));
  model.layer_count = sizes.layer_count;
  model.hidden = sizes.hidden;
  model.vocabulary = sizes.vocabulary;
  return sizes;
}

void AddTables(const TextSizes& sizes, int64_t positions, ParameterBuilder& build) {
  build.Add("tokens.weight", {sizes.vocabulary, sizes.embedding}, Role::kEmbedding);
  if (positions > 0) build.Add("positions.weight", {positions, sizes.embedding}, Role::kPosition);
  if (sizes.token_types > 0) build.Add("token_types.weight", {sizes.token_types, sizes.embedding}, Role::kPosition);
}

// BERT's layer: attention, norm, MLP, norm.
void AddLayer(const TextSizes& sizes, ParameterBuilder& build) {
  AddPlainAttention(sizes.hidden, true, build);
  build.Norm("attention_norm", sizes.hidden, true);
  AddPlainMlp(sizes.hidden, sizes.intermediate, build);
  build.Norm("mlp_norm", sizes.hidden, true);
}

// A transform to the tables' width, whose product with the token table is the score.
void AddMaskedHead(const TextSizes& sizes, ParameterBuilder& build) {
  build.set_prefix("head.");
  build.set_layer(sizes.layer_count);
  build.Linear("transform", sizes.embedding, sizes.hidden, true, Role::kReplicatedLinear);
  build.Norm("norm", sizes.embedding, true);
  build.Add("bias", {sizes.vocabulary}, Role::kHead);
}

// What DeBERTa learns of distances: a table, and products of their own unless the attention's are shared.
struct Distances {
  int64_t rows = 0;  // 0: none
  bool is_normed = false;
  bool has_key_product = false;
  bool has_query_product = false;
};

Result<Distances> ReadDistances(const ConfigJson& config, int64_t max_positions) {
  Distances distances;
  if (!config.Flag("relative_attention", false)) return distances;
  const auto positive = [&](const char* key) {
    return static_cast<int64_t>(
        std::clamp(config.Number(key).value_or(-1), -1.0, static_cast<double>(ConfigJson::kLargestSize)));
  };
  const int64_t buckets = positive("position_buckets");
  const int64_t given = positive("max_relative_positions");
  const int64_t most = given < 1 ? max_positions : given;
  distances.rows = 2 * (buckets > 0 ? buckets : most);
  distances.is_normed = config.Text("norm_rel_ebd").value_or("none").find("layer_norm") != std::string::npos;
  if (config.Flag("share_att_key", false)) return distances;
  std::string kinds = config.Text("pos_att_type").value_or("");
  for (const std::string& kind : config.Texts("pos_att_type")) kinds += kind + "|";
  distances.has_key_product = kinds.find("c2p") != std::string::npos;
  distances.has_query_product = kinds.find("p2c") != std::string::npos;
  return distances;
}

}  // namespace

// Groups of layers that are repeated to make the depth.
Status ReadAlbert(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TextSizes sizes, ReadSizes(config, 2, 128, model));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t groups, config.Integer("num_hidden_groups", 1));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t each, config.Integer("inner_group_num", 1));
  if (groups > sizes.layer_count || each > ConfigJson::kMostLayers)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} groups of {} layers.", groups, each));
  ParameterBuilder build;
  AddTables(sizes, model.max_positions, build);
  build.Norm("embedding_norm", sizes.embedding, true);
  build.Linear("embedding_projection", sizes.hidden, sizes.embedding, true, Role::kReplicatedLinear);
  for (int64_t i = 0; i < groups * each; ++i) {
    build.set_layer(i / each);
    build.set_prefix(fmt::format("groups.{}.layers.{}.", i / each, i % each));
    AddLayer(sizes, build);
  }
  build.set_prefix("");
  build.set_layer(sizes.layer_count);
  if (IsArchitecture(config, "ForMaskedLM")) {
    AddMaskedHead(sizes, build);
  } else {
    build.Linear("pooler", sizes.hidden, sizes.hidden, true, Role::kReplicatedLinear);
  }
  model.parameters = build.Take();
  return {};
}

Status ReadElectra(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TextSizes sizes, ReadSizes(config, 2, 128, model));
  ParameterBuilder build;
  AddTables(sizes, model.max_positions, build);
  build.Norm("embedding_norm", sizes.embedding, true);
  if (sizes.embedding != sizes.hidden)
    build.Linear("embedding_projection", sizes.hidden, sizes.embedding, true, Role::kReplicatedLinear);
  for (int64_t layer = 0; layer < sizes.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("layers.{}.", layer));
    AddLayer(sizes, build);
  }
  if (IsArchitecture(config, "ForMaskedLM")) AddMaskedHead(sizes, build);
  model.parameters = build.Take();
  return {};
}

// Rotary positions, gated MLPs, norms before the blocks; the first layer lacks the attention's norm.
Status ReadModernBert(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TextSizes sizes, ReadSizes(config, 0, 0, model));
  const bool attention_bias = config.Flag("attention_bias", false);
  const bool mlp_bias = config.Flag("mlp_bias", false);
  const bool norm_bias = config.Flag("norm_bias", false);
  ParameterBuilder build;
  build.Add("tokens.weight", {sizes.vocabulary, sizes.hidden}, Role::kEmbedding);
  build.Norm("embedding_norm", sizes.hidden, norm_bias);
  for (int64_t layer = 0; layer < sizes.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("layers.{}.", layer));
    if (layer > 0) build.Norm("attention_norm", sizes.hidden, norm_bias);
    build.Linear("qkv_proj", 3 * sizes.hidden, sizes.hidden, attention_bias, Role::kColumn);
    build.Linear("o_proj", sizes.hidden, sizes.hidden, attention_bias, Role::kRow);
    build.Norm("mlp_norm", sizes.hidden, norm_bias);
    build.Linear("gate_up_proj", 2 * sizes.intermediate, sizes.hidden, mlp_bias, Role::kColumn);
    build.Linear("down_proj", sizes.hidden, sizes.intermediate, mlp_bias, Role::kRow);
  }
  build.set_layer(sizes.layer_count);
  build.set_prefix("");
  build.Norm("last_norm", sizes.hidden, norm_bias);
  if (IsArchitecture(config, "ForMaskedLM")) {
    build.Linear("head.transform", sizes.hidden, sizes.hidden, config.Flag("classifier_bias", false),
                 Role::kReplicatedLinear);
    build.Norm("head.norm", sizes.hidden, norm_bias);
    if (config.Flag("decoder_bias", true)) build.Add("head.bias", {sizes.vocabulary}, Role::kHead);
  }
  model.parameters = build.Take();
  return {};
}

Status ReadDebertaV2(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TextSizes sizes, ReadSizes(config, 0, 0, model));
  MEMSTRATA_ASSIGN_OR_RETURN(const Distances distances, ReadDistances(config, model.max_positions));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t kernel, ReadSize(config, "conv_kernel_size", 0));
  ParameterBuilder build;
  AddTables(sizes, config.Flag("position_biased_input", true) ? model.max_positions : 0, build);
  if (sizes.embedding != sizes.hidden)
    build.Linear("embedding_projection", sizes.hidden, sizes.embedding, false, Role::kReplicatedLinear);
  build.Norm("embedding_norm", sizes.hidden, true);
  for (int64_t layer = 0; layer < sizes.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("layers.{}.", layer));
    AddLayer(sizes, build);
    if (distances.has_key_product) build.Linear("distance_k_proj", sizes.hidden, sizes.hidden, true, Role::kColumn);
    if (distances.has_query_product) build.Linear("distance_q_proj", sizes.hidden, sizes.hidden, true, Role::kColumn);
  }
  build.set_layer(sizes.layer_count);
  build.set_prefix("");
  if (distances.rows > 0) build.Add("distances.weight", {distances.rows, sizes.hidden}, Role::kPosition);
  if (distances.rows > 0 && distances.is_normed) build.Norm("distance_norm", sizes.hidden, true);
  if (kernel > 0) {
    build.Add("convolution.weight", {sizes.hidden, sizes.hidden, kernel}, Role::kConvolution);
    build.Add("convolution.bias", {sizes.hidden}, Role::kColumnBias);
    build.Norm("convolution_norm", sizes.hidden, true);
  }
  if (IsArchitecture(config, "ForMaskedLM")) AddMaskedHead(sizes, build);
  model.parameters = build.Take();
  return {};
}

}  // namespace memstrata::plan
