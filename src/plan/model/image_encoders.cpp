// Image encoders beside ViT, and SigLIP's pair of towers.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/encoder_parts.h"
#include "plan/model/listed_models.h"

namespace memstrata::plan {
namespace {

struct Patches {
  int64_t channels = 0;
  int64_t image = 0;
  int64_t patch = 0;

  int64_t Count() const { return (image / patch) * (image / patch); }
};

Result<Patches> ReadPatches(const ConfigJson& config, int64_t usual_patch) {
  Patches patches;
  MEMSTRATA_ASSIGN_OR_RETURN(patches.channels, ReadSize(config, "num_channels", 3));
  MEMSTRATA_ASSIGN_OR_RETURN(patches.image, ReadSize(config, "image_size", 224));
  MEMSTRATA_ASSIGN_OR_RETURN(patches.patch, ReadSize(config, "patch_size", usual_patch));
  if (patches.patch > 0 && patches.patch <= patches.image) return patches;
  return Fail(ErrorCode::kInvalidArgument, "\"patch_size\" must be above 0 and at most \"image_size\".");
}

void AddPatches(const Patches& patches, int64_t hidden, ParameterBuilder& build) {
  build.Add("patches.weight", {hidden, patches.channels, patches.patch, patches.patch}, Role::kConvolution);
  build.Add("patches.bias", {hidden}, Role::kColumnBias);
}

int64_t Times(int64_t size, double ratio) { return static_cast<int64_t>(static_cast<double>(size) * ratio); }

double ReadRatio(const ConfigJson& config) { return std::clamp(config.Number("mlp_ratio").value_or(4), 0.0, 1024.0); }

// One of SigLIP's stacks; the classes' defaults where its configuration is silent.
Result<EncoderStack> ReadTower(const ConfigJson& config, const char* prefix) {
  EncoderStack tower;
  tower.prefix = prefix;
  MEMSTRATA_ASSIGN_OR_RETURN(tower.layer_count, ReadSize(config, "num_hidden_layers", 12));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.hidden, ReadSize(config, "hidden_size", 768));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.intermediate, ReadSize(config, "intermediate_size", 3072));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.heads, config.Integer("num_attention_heads", 12));
  MEMSTRATA_TRY(CheckHeads(tower.hidden, tower.heads));
  tower.activation = ActivationOf(config.Text("hidden_act").value_or("gelu_pytorch_tanh"));
  tower.norms_first = true;
  tower.attention_dropout = config.Number("attention_dropout").value_or(0);
  if (tower.layer_count <= ConfigJson::kMostLayers) return tower;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} layers are more than the {} that are planned for.",
                                                       tower.layer_count, ConfigJson::kMostLayers));
}

void AddTower(const EncoderStack& tower, ParameterBuilder& build) {
  for (int64_t layer = 0; layer < tower.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("{}layers.{}.", tower.prefix, layer));
    build.Norm("attention_norm", tower.hidden, true);
    AddPlainAttention(tower.hidden, true, build);
    build.Norm("mlp_norm", tower.hidden, true);
    AddPlainMlp(tower.hidden, tower.intermediate, build);
  }
  build.set_layer(tower.layer_count);
  build.set_prefix(tower.prefix);
  build.Norm("final_norm", tower.hidden, true);
}

void AddSwinLayer(int64_t width, int64_t intermediate, int64_t heads, int64_t window, bool qkv_bias,
                  ParameterBuilder& build) {
  build.Norm("attention_norm", width, true);
  build.Add("distances", {(2 * window - 1) * (2 * window - 1), heads}, Role::kPosition);
  AddPlainAttention(width, qkv_bias, build);
  build.Norm("mlp_norm", width, true);
  AddPlainMlp(width, intermediate, build);
}

Result<int64_t> ClassCount(const ConfigJson& config) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t count, ReadSize(config, "num_labels", 0));
  if (count > 0) return count;
  const std::optional<ConfigJson> labels = config.Object("id2label");
  return labels ? static_cast<int64_t>(labels->UnusedKeys().size()) : 2;
}

// There when `architectures` names one.
Status AddClassifier(const ConfigJson& config, int64_t width, ModelDescription& model, ParameterBuilder& build) {
  if (!HasHead(config, "ForImageClassification")) return {};
  MEMSTRATA_ASSIGN_OR_RETURN(model.vocabulary, ClassCount(config));
  build.Linear("classifier", model.vocabulary, width, true, Role::kReplicatedLinear);
  return {};
}

}  // namespace

Status ReadDinov2(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(model.layer_count, config.Layers({"num_hidden_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(model.hidden, ReadSize(config, "hidden_size", 768));
  MEMSTRATA_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(config, 14));
  model.max_positions = patches.Count() + 1;
  const bool is_gated = config.Flag("use_swiglu_ffn", false);
  const bool qkv_bias = config.Flag("qkv_bias", true);
  const int64_t hidden = model.hidden;
  int64_t inner = Times(hidden, ReadRatio(config));
  if (is_gated) inner = (Times(inner, 2.0 / 3.0) + 7) / 8 * 8;  // two thirds, in multiples of eight
  ParameterBuilder build;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t heads, config.Integer("num_attention_heads", 12));
  MEMSTRATA_TRY(CheckHeads(hidden, heads));
  build.set_prefix("image.");
  build.Add("extra_tokens", {1, 1, hidden}, Role::kPosition);
  if (config.Flag("use_mask_token", true)) build.Add("mask_token", {1, hidden}, Role::kPosition);
  build.Add("positions", {1, patches.Count() + 1, hidden}, Role::kPosition);
  AddPatches(patches, hidden, build);
  for (int64_t layer = 0; layer < model.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("encoder.layers.{}.", layer));
    build.Norm("attention_norm", hidden, true);
    AddPlainAttention(hidden, qkv_bias, build);
    build.Add("attention_scale", {hidden}, Role::kNorm);
    build.Norm("mlp_norm", hidden, true);
    build.Linear(is_gated ? "gate_up_proj" : "up_proj", is_gated ? 2 * inner : inner, hidden, true, Role::kColumn);
    build.Linear("down_proj", hidden, inner, true, Role::kRow);
    build.Add("mlp_scale", {hidden}, Role::kNorm);
  }
  build.set_layer(model.layer_count);
  build.set_prefix("");
  build.Norm("image.final_norm", hidden, true);
  MEMSTRATA_TRY(AddClassifier(config, 2 * hidden, model, build));
  const bool skips_blocks = config.Number("drop_path_rate").value_or(0) > 0;  // of some samples
  if (model.vocabulary > 0 && !skips_blocks) {
    EncoderSpec spec;
    spec.model_type = model.model_type;
    spec.task = EncoderTask::kImageClasses;
    spec.class_count = model.vocabulary;
    spec.image = ImageInput{patches.channels, patches.image, patches.patch};
    spec.image->classifies_mean = true;
    spec.image_stack.prefix = "encoder.";
    spec.image_stack.layer_count = model.layer_count;
    spec.image_stack.hidden = hidden;
    spec.image_stack.intermediate = inner;
    spec.image_stack.heads = heads;
    spec.image_stack.activation =
        is_gated ? ActivationKind::kSavesInput : ActivationOf(config.Text("hidden_act").value_or("gelu"));
    spec.image_stack.norms_first = spec.image_stack.holds_attention_results = spec.image_stack.scales_results = true;
    spec.image_stack.qkv_bias = qkv_bias;
    spec.image_stack.fuses_gate_up = is_gated;
    spec.image_stack.drops_mlp_output = false;
    spec.image_stack.dropout = config.Number("hidden_dropout_prob").value_or(0);
    spec.image_stack.attention_dropout = config.Number("attention_probs_dropout_prob").value_or(0);
    model.step = std::move(spec);
  }
  model.parameters = build.Take();
  return {};
}

// Stages of twice the width and half the side each.
Status ReadSwin(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t first_width, ReadSize(config, "embed_dim", 96));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t window, ReadSize(config, "window_size", 7));
  MEMSTRATA_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(config, 4));
  const std::vector<int64_t> depths = config.Integers("depths");
  const std::vector<int64_t> heads = config.Integers("num_heads");
  constexpr size_t kMostStages = 16;
  if (depths.empty() || depths.size() != heads.size() || depths.size() > kMostStages || window == 0)
    return Fail(ErrorCode::kInvalidArgument, "A Swin needs \"depths\" and \"num_heads\", as many of both, at most 16.");
  const double ratio = ReadRatio(config);
  ParameterBuilder build;
  AddPatches(patches, first_width, build);
  build.Norm("embedding_norm", first_width, true);
  if (config.Flag("use_absolute_embeddings", false))
    build.Add("positions", {1, patches.Count(), first_width}, Role::kPosition);
  int64_t width = first_width;
  int64_t tokens = patches.Count();
  double token_widths = 0;  // summed over the layers
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    if (depths[stage] < 1 || heads[stage] < 1 || model.layer_count + depths[stage] > ConfigJson::kMostLayers ||
        width % heads[stage] != 0) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A Swin stage of {} layers, {} wide, with {} heads.",
                                                           depths[stage], width, heads[stage]));
    }
    for (int64_t i = 0; i < depths[stage]; ++i) {
      build.set_layer(model.layer_count++);
      build.set_prefix(fmt::format("stages.{}.layers.{}.", stage, i));
      AddSwinLayer(width, Times(width, ratio), heads[stage], window, config.Flag("qkv_bias", true), build);
    }
    token_widths += static_cast<double>(depths[stage]) * static_cast<double>(tokens) * static_cast<double>(width);
    if (stage + 1 == depths.size()) break;
    build.set_prefix(fmt::format("stages.{}.merging.", stage));
    build.Linear("reduction", 2 * width, 4 * width, false, Role::kReplicatedLinear);
    build.Norm("norm", 4 * width, true);
    width *= 2;
    tokens = std::max<int64_t>(1, tokens / 4);
  }
  // A layer's mean share of activations, as a width at the number of tokens that the first stage has.
  model.max_positions = patches.Count();
  model.hidden = Times(1, token_widths / static_cast<double>(model.layer_count * patches.Count()));
  build.set_layer(model.layer_count);
  build.set_prefix("");
  build.Norm("last_norm", width, true);
  MEMSTRATA_TRY(AddClassifier(config, width, model, build));
  model.parameters = build.Take();
  return {};
}

Status ReadSiglip(const ConfigJson& config, ModelDescription& model) {
  const std::optional<ConfigJson> text = config.Object("text_config");
  const std::optional<ConfigJson> vision = config.Object("vision_config");
  if (!text || !vision) {
    return Fail(ErrorCode::kInvalidArgument, "A SigLIP configuration needs \"text_config\" and \"vision_config\".");
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const EncoderStack words, ReadTower(*text, "text."));
  MEMSTRATA_ASSIGN_OR_RETURN(const EncoderStack pictures, ReadTower(*vision, "image."));
  MEMSTRATA_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(*vision, 16));
  MEMSTRATA_ASSIGN_OR_RETURN(model.vocabulary, ReadSize(*text, "vocab_size", 32000));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, ReadSize(*text, "max_position_embeddings", 64));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t projection, ReadSize(*text, "projection_size", words.hidden));
  EncoderSpec spec;
  spec.model_type = model.model_type;
  spec.task = EncoderTask::kSigmoidContrast;
  spec.text = TextInput{model.vocabulary, model.max_positions};
  spec.text_stack = words;
  spec.image = ImageInput{patches.channels, patches.image, patches.patch, 0};
  spec.image->pools_by_attention = vision->Flag("vision_use_head", true);
  spec.image_stack = pictures;
  spec.projection_width = projection;
  ParameterBuilder build;
  for (const char* name : {"logit_scale", "logit_bias"}) build.Add(name, {1}, Role::kNorm);
  build.set_prefix("text.");
  build.Add("tokens.weight", {model.vocabulary, words.hidden}, Role::kEmbedding);
  build.Add("positions.weight", {model.max_positions, words.hidden}, Role::kPosition);
  AddTower(words, build);
  build.Linear("projection", projection, words.hidden, true, Role::kReplicatedLinear);
  build.set_prefix("image.");
  build.set_layer(-1);
  AddPatches(patches, pictures.hidden, build);
  build.Add("positions.weight", {patches.Count(), pictures.hidden}, Role::kPosition);
  AddTower(pictures, build);
  if (spec.image->pools_by_attention) {
    build.set_prefix("image.pooling.");
    AddAttentionPooling(pictures.hidden, pictures.intermediate, build);
  }
  model.parameters = build.Take();
  model.buffers = {{"text positions", {spec.text->position_count}, 8}, {"image positions", {patches.Count()}, 8}};
  if (spec.image->pools_by_attention) model.step = std::move(spec);  // else there is nothing to contrast
  model.layer_count = words.layer_count + pictures.layer_count;
  model.max_positions = std::max(model.max_positions, patches.Count());
  model.hidden = std::max(words.hidden, pictures.hidden);
  return {};
}

}  // namespace memstrata::plan
