#include "plan/model/encoder_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/parameter_builder.h"

namespace memstrata::plan {
namespace {

Result<EncoderStack> ReadStack(const ConfigJson& config, std::string prefix) {
  EncoderStack stack;
  stack.prefix = std::move(prefix);
  MEMSTRATA_ASSIGN_OR_RETURN(stack.layer_count, config.IntegerOf({"num_hidden_layers", "n_layers"}, 12));
  MEMSTRATA_ASSIGN_OR_RETURN(stack.hidden, config.RequiredIntegerOf({"hidden_size", "dim"}));
  MEMSTRATA_ASSIGN_OR_RETURN(stack.intermediate,
                             config.IntegerOf({"intermediate_size", "hidden_dim"}, 4 * stack.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(stack.heads, config.IntegerOf({"num_attention_heads", "n_heads"}, 12));
  MEMSTRATA_TRY(CheckHeads(stack.hidden, stack.heads));
  stack.activation = ActivationOf(config.Text("hidden_act").value_or(config.Text("activation").value_or("gelu")));
  return stack;
}

Result<ImageInput> ReadImage(const ConfigJson& config) {
  ImageInput image;
  MEMSTRATA_ASSIGN_OR_RETURN(image.channels, config.Integer("num_channels", 3));
  MEMSTRATA_ASSIGN_OR_RETURN(image.image_size, config.Integer("image_size", 224));
  MEMSTRATA_ASSIGN_OR_RETURN(image.patch_size, config.Integer("patch_size", 16));
  if (image.patch_size == 0 || image.image_size < image.patch_size) {
    return Fail(ErrorCode::kInvalidArgument, "\"patch_size\" must be above 0 and at most \"image_size\".");
  }
  return image;
}

Status ReadMaskedLanguage(const ConfigJson& config, EncoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.text_stack, ReadStack(config, "encoder."));
  TextInput text;
  MEMSTRATA_ASSIGN_OR_RETURN(text.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(text.position_count, config.Integer("max_position_embeddings", 512));
  const bool is_distilled = spec.model_type == "distilbert";
  const bool is_roberta = spec.model_type == "roberta" || spec.model_type == "xlm-roberta";
  if (!is_roberta) spec.head_activation = spec.text_stack.activation;  // RoBERTa's is always GELU
  MEMSTRATA_ASSIGN_OR_RETURN(text.token_type_count, config.Integer("type_vocab_size", is_distilled ? 0 : 2));
  text.has_norm = true;
  spec.text = text;
  spec.text_stack.drops_attention_output = !is_distilled;
  spec.text_stack.dropout = config.Number(is_distilled ? "dropout" : "hidden_dropout_prob").value_or(0.1);
  spec.text_stack.attention_dropout =
      config.Number(is_distilled ? "attention_dropout" : "attention_probs_dropout_prob").value_or(0.1);
  return {};
}

Status ReadImageClasses(const ConfigJson& config, EncoderSpec& spec) {
  spec.task = EncoderTask::kImageClasses;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.image_stack, ReadStack(config, "encoder."));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.image, ReadImage(config));
  if (spec.model_type == "deit") spec.image->extra_tokens = 2;
  spec.image_stack.norms_first = spec.image_stack.holds_attention_results = true;
  spec.image_stack.qkv_bias = config.Flag("qkv_bias", true);
  spec.image_stack.dropout = config.Number("hidden_dropout_prob").value_or(0);
  spec.image_stack.attention_dropout = config.Number("attention_probs_dropout_prob").value_or(0);
  MEMSTRATA_ASSIGN_OR_RETURN(spec.class_count, config.Integer("num_labels", 0));
  if (spec.class_count == 0) {
    const std::optional<ConfigJson> labels = config.Object("id2label");
    spec.class_count = labels ? std::max<int64_t>(1, static_cast<int64_t>(labels->UnusedKeys().size())) : 2;
  }
  return {};
}

// Of CLIP's classes in transformers; published configurations leave them out.
constexpr std::string_view kClipText =
    R"({"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 8})";
constexpr std::string_view kClipImage = R"({"hidden_size": 768, "intermediate_size": 3072, "patch_size": 32})";

Status ReadContrast(const ConfigJson& config, EncoderSpec& spec) {
  spec.task = EncoderTask::kContrast;
  std::optional<ConfigJson> text_config = config.Object("text_config");
  std::optional<ConfigJson> image_config = config.Object("vision_config");
  if (!text_config || !image_config) {
    return Fail(ErrorCode::kInvalidArgument, "A CLIP configuration needs \"text_config\" and \"vision_config\".");
  }
  text_config = text_config->WithDefaults(kClipText);
  image_config = image_config->WithDefaults(kClipImage);
  MEMSTRATA_ASSIGN_OR_RETURN(spec.text_stack, ReadStack(*text_config, "text.encoder."));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.image_stack, ReadStack(*image_config, "vision.encoder."));
  spec.text_stack.activation = ActivationOf(text_config->Text("hidden_act").value_or("quick_gelu"));
  spec.image_stack.activation = ActivationOf(image_config->Text("hidden_act").value_or("quick_gelu"));
  spec.text_stack.norms_first = spec.image_stack.norms_first = true;
  spec.text_stack.attention_dropout = text_config->Number("attention_dropout").value_or(0);
  spec.image_stack.attention_dropout = image_config->Number("attention_dropout").value_or(0);
  TextInput text;
  MEMSTRATA_ASSIGN_OR_RETURN(text.vocabulary, text_config->Integer("vocab_size", 49408));
  MEMSTRATA_ASSIGN_OR_RETURN(text.position_count, text_config->Integer("max_position_embeddings", 77));
  spec.text = text;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.image, ReadImage(*image_config));
  spec.image->patch_bias = false;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.projection_width, config.Integer("projection_dim", 512));
  return {};
}

void AddStack(const EncoderStack& stack, ParameterBuilder& build) {
  for (int64_t layer = 0; layer < stack.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("{}layers.{}.", stack.prefix, layer));
    for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
      build.Linear(name, stack.hidden, stack.hidden, stack.qkv_bias, Role::kColumn);
    }
    build.Linear("o_proj", stack.hidden, stack.hidden, true, Role::kRow);
    build.Norm("attention_norm", stack.hidden, true);
    build.Linear("up_proj", stack.intermediate, stack.hidden, true, Role::kColumn);
    build.Linear("down_proj", stack.hidden, stack.intermediate, true, Role::kRow);
    build.Norm("mlp_norm", stack.hidden, true);
  }
  build.set_layer(stack.layer_count);
  build.set_prefix("");
}

void AddText(const EncoderSpec& spec, ParameterBuilder& build) {
  const int64_t hidden = spec.text_stack.hidden;
  build.set_layer(-1);
  build.Add("text.tokens.weight", {spec.text->vocabulary, hidden}, Role::kEmbedding);
  build.Add("text.positions.weight", {spec.text->position_count, hidden}, Role::kPosition);
  if (spec.text->token_type_count > 0) {
    build.Add("text.token_types.weight", {spec.text->token_type_count, hidden}, Role::kPosition);
  }
  if (spec.text->has_norm) build.Norm("text.embedding_norm", hidden, true);
  AddStack(spec.text_stack, build);
}

void AddImage(const EncoderSpec& spec, ParameterBuilder& build) {
  const ImageInput& image = *spec.image;
  const int64_t hidden = spec.image_stack.hidden;
  const bool is_tower = spec.task == EncoderTask::kContrast;
  build.set_layer(-1);
  std::vector<int64_t> extra_shape{1, image.extra_tokens, hidden};
  if (is_tower) extra_shape = {hidden};
  build.Add("image.extra_tokens", extra_shape, Role::kPosition);
  if (!is_tower) build.Add("image.positions", {1, image.Tokens(), hidden}, Role::kPosition);
  build.Add("image.patches.weight", {hidden, image.channels, image.patch_size, image.patch_size}, Role::kConvolution);
  if (image.patch_bias) build.Add("image.patches.bias", {hidden}, Role::kColumnBias);
  if (is_tower) {
    build.Add("image.positions", {image.Tokens(), hidden}, Role::kPosition);
    build.Norm("image.embedding_norm", hidden, true);
  }
  AddStack(spec.image_stack, build);
  build.Norm("image.final_norm", hidden, true);
}

}  // namespace

bool IsEncoder(const std::string& type) {
  return type == "bert" || type == "roberta" || type == "xlm-roberta" || type == "distilbert" || type == "vit" ||
         type == "deit" || type == "clip";
}

Result<EncoderSpec> ReadEncoder(const ConfigJson& config, const std::string& model_type) {
  EncoderSpec spec;
  spec.model_type = model_type;
  if (model_type == "clip") {
    MEMSTRATA_TRY(ReadContrast(config, spec));
  } else if (model_type == "vit" || model_type == "deit") {
    MEMSTRATA_TRY(ReadImageClasses(config, spec));
  } else {
    MEMSTRATA_TRY(ReadMaskedLanguage(config, spec));
  }
  return spec;
}

std::vector<ParameterSpec> EncoderParameters(const EncoderSpec& spec) {
  ParameterBuilder build;
  if (spec.text) AddText(spec, build);
  if (spec.task == EncoderTask::kContrast) build.Norm("text.final_norm", spec.text_stack.hidden, true);
  if (spec.image) AddImage(spec, build);
  switch (spec.task) {
    case EncoderTask::kMaskedLanguage:
      build.Add("head.bias", {spec.text->vocabulary}, Role::kHead);
      build.Linear("head.transform", spec.text_stack.hidden, spec.text_stack.hidden, true, Role::kReplicatedLinear);
      build.Norm("head.norm", spec.text_stack.hidden, true);
      break;
    case EncoderTask::kImageClasses:
      build.Linear("classifier", spec.class_count, spec.image_stack.hidden, true, Role::kReplicatedLinear);
      break;
    case EncoderTask::kContrast:
      build.Linear("visual_projection", spec.projection_width, spec.image_stack.hidden, false, Role::kReplicatedLinear);
      build.Linear("text_projection", spec.projection_width, spec.text_stack.hidden, false, Role::kReplicatedLinear);
      build.Add("logit_scale", {}, Role::kNorm);
      break;
  }
  return build.Take();
}

std::vector<BufferSpec> EncoderBuffers(const EncoderSpec& spec) {
  std::vector<BufferSpec> buffers;
  if (spec.text) buffers.push_back({"text positions", {spec.text->position_count}, 8});
  if (spec.text && spec.text->token_type_count > 0) buffers.push_back({"token types", {spec.text->position_count}, 8});
  if (spec.task == EncoderTask::kContrast) buffers.push_back({"image positions", {spec.image->Tokens()}, 8});
  return buffers;
}

}  // namespace memstrata::plan
