// Text encoders that differ from BERT in what their layers share or replace: ALBERT, ELECTRA, ModernBERT, DeBERTa.
// They are masked language models unless `architectures` names another class; of such a one no step is described.

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
  int64_t heads = 0;
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
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.heads, config.RequiredInteger("num_attention_heads"));
  MEMSTRATA_TRY(CheckHeads(sizes.hidden, sizes.heads));
  model.layer_count = sizes.layer_count;
  model.hidden = sizes.hidden;
  model.vocabulary = sizes.vocabulary;
  return sizes;
}

void AddTables(const TextSizes& sizes, int64_t positions, ParameterBuilder& build) {
  build.Add("text.tokens.weight", {sizes.vocabulary, sizes.embedding}, Role::kEmbedding);
  if (positions > 0) build.Add("text.positions.weight", {positions, sizes.embedding}, Role::kPosition);
  if (sizes.token_types > 0)
    build.Add("text.token_types.weight", {sizes.token_types, sizes.embedding}, Role::kPosition);
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

ActivationKind Activation(const ConfigJson& config, std::string_view key, const char* usual) {
  return ActivationOf(config.Text(key).value_or(usual));
}

// A masked language model whose layers are BERT's.
EncoderSpec DescribeSteps(const ConfigJson& config, const TextSizes& sizes, const char* usual_activation,
                          double usual_dropout, const ModelDescription& model) {
  EncoderSpec spec;
  spec.model_type = model.model_type;
  spec.text = TextInput{sizes.vocabulary, model.max_positions, sizes.token_types, true, false};
  EncoderStack& stack = spec.text_stack;
  stack.prefix = "encoder.";
  stack.layer_count = sizes.layer_count;
  stack.hidden = sizes.hidden;
  stack.intermediate = sizes.intermediate;
  stack.heads = sizes.heads;
  stack.activation = spec.head_activation = Activation(config, "hidden_act", usual_activation);
  stack.has_older_eager = true;
  stack.dropout = config.Number("hidden_dropout_prob").value_or(usual_dropout);
  stack.attention_dropout = config.Number("attention_probs_dropout_prob").value_or(usual_dropout);
  return spec;
}

std::vector<BufferSpec> PositionBuffers(int64_t positions) {
  return {{"text positions", {positions}, 8}, {"token types", {positions}, 8}};
}

// ALBERT's layers in the order in which they run: those of a group together, each group for its share of the depth.
std::vector<int64_t> RunsOfGroups(int64_t depth, int64_t groups, int64_t each) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t group = std::min(i * groups / depth, groups - 1);
    for (int64_t j = 0; j < each; ++j) order.push_back(group * each + j);
  }
  return order;
}

// What DeBERTa learns of distances: a table, and products of their own unless the attention's are shared.
struct Distances {
  int64_t rows = 0;  // 0: none
  bool is_normed = false;
  bool has_key_product = false;
  bool has_query_product = false;
  bool has_content_to_position = false;
  bool has_position_to_content = false;
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
  std::string kinds = config.Text("pos_att_type").value_or("");
  for (const std::string& kind : config.Texts("pos_att_type")) kinds += kind + "|";
  distances.has_content_to_position = kinds.find("c2p") != std::string::npos;
  distances.has_position_to_content = kinds.find("p2c") != std::string::npos;
  if (config.Flag("share_att_key", false)) return distances;
  distances.has_key_product = distances.has_content_to_position;
  distances.has_query_product = distances.has_position_to_content;
  return distances;
}

DebertaSpec DescribeDeberta(const ConfigJson& config, const TextSizes& sizes, const Distances& distances) {
  DebertaSpec spec;
  spec.layer_count = sizes.layer_count;
  spec.hidden = sizes.hidden;
  spec.heads = sizes.heads;
  spec.vocabulary = sizes.vocabulary;
  spec.distance_rows = distances.rows;
  spec.shares_products = config.Flag("share_att_key", false);
  spec.has_content_to_position = distances.has_content_to_position;
  spec.has_position_to_content = distances.has_position_to_content;
  spec.activation = Activation(config, "hidden_act", "gelu");
  spec.dropout = config.Number("hidden_dropout_prob").value_or(0.1);
  spec.attention_dropout = config.Number("attention_probs_dropout_prob").value_or(0.1);
  return spec;
}

ModernBertSpec DescribeModernBert(const ConfigJson& config, const TextSizes& sizes, int64_t every) {
  ModernBertSpec spec;
  spec.layer_count = sizes.layer_count;
  spec.hidden = sizes.hidden;
  spec.intermediate = sizes.intermediate;
  spec.heads = sizes.heads;
  spec.vocabulary = sizes.vocabulary;
  spec.every = every;
  spec.embedding_dropout = config.Number("embedding_dropout").value_or(0);
  spec.attention_dropout = config.Number("attention_dropout").value_or(0);
  spec.mlp_dropout = config.Number("mlp_dropout").value_or(0);
  return spec;
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
  build.Norm("text.embedding_norm", sizes.embedding, true);
  build.Linear("embedding_projection", sizes.hidden, sizes.embedding, true, Role::kReplicatedLinear);
  for (int64_t i = 0; i < groups * each; ++i) {
    build.set_layer(i / each);
    build.set_prefix(fmt::format("encoder.layers.{}.", i));
    AddLayer(sizes, build);
  }
  build.set_prefix("");
  build.set_layer(sizes.layer_count);
  model.buffers = PositionBuffers(model.max_positions);
  if (HasHead(config, "ForMaskedLM")) {
    AddMaskedHead(sizes, build);
    EncoderSpec spec = DescribeSteps(config, sizes, "gelu_new", 0, model);
    spec.text->is_projected = true;
    spec.text_stack.layer_count = groups * each;
    spec.text_stack.order = RunsOfGroups(sizes.layer_count, groups, each);
    spec.text_stack.drops_mlp_output = spec.text_stack.recomputes = false;
    model.step = std::move(spec);
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
  build.Norm("text.embedding_norm", sizes.embedding, true);
  if (sizes.embedding != sizes.hidden)
    build.Linear("embedding_projection", sizes.hidden, sizes.embedding, true, Role::kReplicatedLinear);
  for (int64_t layer = 0; layer < sizes.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("encoder.layers.{}.", layer));
    AddLayer(sizes, build);
  }
  model.buffers = PositionBuffers(model.max_positions);
  if (HasHead(config, "ForMaskedLM")) {
    AddMaskedHead(sizes, build);
    EncoderSpec spec = DescribeSteps(config, sizes, "gelu", 0.1, model);
    spec.text->is_projected = sizes.embedding != sizes.hidden;
    spec.text_stack.has_fused_attention = false;
    spec.head_activation = ActivationKind::kSavesInput;
    model.step = std::move(spec);
  }
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
  build.Add("text.tokens.weight", {sizes.vocabulary, sizes.hidden}, Role::kEmbedding);
  build.Norm("text.embedding_norm", sizes.hidden, norm_bias);
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
  // The rotary frequencies of each layer.
  model.buffers = {{"frequencies", {sizes.layer_count, sizes.hidden / sizes.heads / 2}, 4}};
  if (HasHead(config, "ForMaskedLM")) {
    build.Linear("head.transform", sizes.hidden, sizes.hidden, config.Flag("classifier_bias", false),
                 Role::kReplicatedLinear);
    build.Norm("head.norm", sizes.hidden, norm_bias);
    if (config.Flag("decoder_bias", true)) build.Add("head.bias", {sizes.vocabulary}, Role::kHead);
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t every, ReadSize(config, "global_attn_every_n_layers", 3));
    // A loss of some tokens alone depends on their number, which no configuration tells.
    const bool is_plain =
        every > 0 && config.Flag("tie_word_embeddings", true) && !config.Flag("sparse_prediction", false);
    if (is_plain) model.step = DescribeModernBert(config, sizes, every);
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
  build.Norm("text.embedding_norm", sizes.hidden, true);
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
  model.buffers = {{"text positions", {model.max_positions}, 8}};
  if (HasHead(config, "ForMaskedLM")) {
    AddMaskedHead(sizes, build);
    const bool is_plain = kernel == 0 && config.Flag("legacy", true) && sizes.embedding == sizes.hidden;
    if (is_plain) model.step = DescribeDeberta(config, sizes, distances);
  }
  model.parameters = build.Take();
  return {};
}

}  // namespace memstrata::plan
