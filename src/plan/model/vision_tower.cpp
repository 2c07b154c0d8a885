#include "plan/model/vision_tower.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/encoder_parts.h"
#include "plan/model/vision_readers.h"

namespace memstrata::plan {
namespace {

enum class Projection : uint8_t { kLinear, kTwoLayers, kNormed };

// CLIP and SigLIP: square images of one size.
Status ReadFixed(const ConfigJson& vision, bool has_class_token, VisionTower& tower, ParameterBuilder& build) {
  MEMSTRATA_ASSIGN_OR_RETURN(tower.hidden, vision.RequiredInteger("hidden_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.intermediate, vision.RequiredInteger("intermediate_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.layer_count, vision.RequiredInteger("num_hidden_layers"));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.heads, vision.RequiredInteger("num_attention_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t image, vision.Integer("image_size", 224));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t patch, vision.Integer("patch_size", has_class_token ? 32 : 16));
  if (patch == 0 || patch > image || image > ConfigJson::kLargestSize || tower.layer_count > ConfigJson::kMostLayers) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("A vision tower of {} layers cannot cut images of {} in patches of {}.", tower.layer_count,
                            image, patch));
  }
  tower.image_tokens = (image / patch) * (image / patch) + (has_class_token ? 1 : 0);
  if (has_class_token) build.Add("class_token", {tower.hidden}, Role::kPosition);
  build.Add("patches.weight", {tower.hidden, kVisionChannels, patch, patch}, Role::kConvolution);
  if (!has_class_token) build.Add("patches.bias", {tower.hidden}, Role::kColumnBias);
  build.Add("positions", {tower.image_tokens, tower.hidden}, Role::kPosition);
  if (has_class_token) build.Norm("first_norm", tower.hidden, true);
  AddVisionLayers(tower, {}, build);
  build.Norm("last_norm", tower.hidden, true);
  if (!has_class_token && vision.Flag("vision_use_head", true)) {
    build.set_prefix("vision.pooling.");
    AddAttentionPooling(tower.hidden, tower.intermediate, build);
    build.set_prefix("vision.");
  }
  return {};
}

void AddProjection(Projection kind, const VisionTower& tower, int64_t text_hidden, ParameterBuilder& build) {
  switch (kind) {
    case Projection::kLinear:
      build.Linear("projection", text_hidden, tower.hidden, true, Role::kReplicatedLinear);
      break;
    case Projection::kTwoLayers:
      build.Linear("projection.first", text_hidden, tower.hidden, true, Role::kReplicatedLinear);
      build.Linear("projection.second", text_hidden, text_hidden, true, Role::kReplicatedLinear);
      break;
    case Projection::kNormed:
      build.Linear("projection", text_hidden, tower.hidden, false, Role::kReplicatedLinear);
      build.Norm("projection_norm", tower.hidden, false);
      break;
  }
}

// Qwen2-VL and Qwen2.5-VL: images of any size, pairs of frames, patches merged four to one.
Status ReadQwen(const ConfigJson& vision, bool is_first, VisionTower& tower, ParameterBuilder& build) {
  MEMSTRATA_ASSIGN_OR_RETURN(tower.layer_count, vision.Integer("depth", 32));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.hidden, vision.Integer(is_first ? "embed_dim" : "hidden_size", 1280));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.heads, vision.Integer("num_heads", 16));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t out, vision.Integer(is_first ? "hidden_size" : "out_hidden_size", 3584));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t patch, vision.IntegerOf({"patch_size", "spatial_patch_size"}, 14));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t frames, vision.Integer("temporal_patch_size", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t merge, vision.Integer("spatial_merge_size", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t ratio, vision.Integer("mlp_ratio", 4));
  const int64_t usual_width =
      std::min(ratio, ConfigJson::kLargestSize) * std::min(tower.hidden, ConfigJson::kLargestSize);
  MEMSTRATA_ASSIGN_OR_RETURN(tower.intermediate, vision.Integer("intermediate_size", usual_width));
  for (const int64_t size : {tower.hidden, tower.intermediate, patch, frames, merge}) {
    if (size > ConfigJson::kLargestSize || merge > patch)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A vision tower with a size of {}.", size));
  }
  if (tower.layer_count > ConfigJson::kMostLayers)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("A vision tower of {} layers.", tower.layer_count));
  tower.is_gated = !is_first;
  tower.patches_per_token = std::max<int64_t>(1, merge * merge);
  build.Add("patches.weight", {tower.hidden, kVisionChannels, frames, patch, patch}, Role::kConvolution);
  AddVisionLayers(tower, {.norm_bias = is_first, .fuses_qkv = true}, build);
  const int64_t merged = tower.hidden * merge * merge;
  build.Norm("merger_norm", tower.hidden, is_first);
  build.Linear("merger.first", merged, merged, true, Role::kReplicatedLinear);
  build.Linear("merger.second", out, merged, true, Role::kReplicatedLinear);
  return {};
}

// Models whose tower is CLIP's or SigLIP's, and what is between it and the language model.
struct ProjectedModel {
  std::string_view model_type;
  Projection projection;
  bool has_newline = false;  // a learned token behind each row of patches
};

constexpr ProjectedModel kProjectedModels[] = {
    {"llava", Projection::kTwoLayers},
    {"llava_next", Projection::kTwoLayers, true},
    {"llava_onevision", Projection::kTwoLayers, true},
    {"gemma3", Projection::kNormed},
    {"paligemma", Projection::kLinear},
};

struct TowerReader {
  std::string_view model_type;
  Status (*read)(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);
};

constexpr TowerReader kTowerReaders[] = {
    {"qwen3_vl", ReadQwen3Tower},    {"qwen3_vl_moe", ReadQwen3Tower}, {"qwen3_5", ReadQwen3Tower},
    {"qwen3_5_moe", ReadQwen3Tower}, {"llama4", ReadLlama4Tower},      {"mllama", ReadMllamaTower},
    {"idefics3", ReadIdefics3Tower}, {"smolvlm", ReadIdefics3Tower},   {"mistral3", ReadPixtralTower},
};

}  // namespace

void AddVisionLayers(const VisionTower& tower, const VisionLayerForm& form, ParameterBuilder& build) {
  for (int64_t layer = 0; layer < tower.layer_count; ++layer) {
    build.set_prefix(fmt::format("vision.layers.{}.", layer));
    if (form.fuses_qkv) {
      build.Linear("qkv", 3 * tower.hidden, tower.hidden, form.attention_bias, Role::kReplicatedLinear);
    } else {
      for (const char* name : {"q", "k", "v"})
        build.Linear(name, tower.hidden, tower.hidden, form.attention_bias, Role::kReplicatedLinear);
    }
    build.Linear("out", tower.hidden, tower.hidden, form.attention_bias, Role::kReplicatedLinear);
    if (tower.is_gated) build.Linear("gate", tower.intermediate, tower.hidden, form.mlp_bias, Role::kReplicatedLinear);
    build.Linear("up", tower.intermediate, tower.hidden, form.mlp_bias, Role::kReplicatedLinear);
    build.Linear("down", tower.hidden, tower.intermediate, form.mlp_bias, Role::kReplicatedLinear);
    build.Norm("attention_norm", tower.hidden, form.norm_bias);
    build.Norm("mlp_norm", tower.hidden, form.norm_bias);
  }
  build.set_prefix("vision.");
}

Result<std::optional<VisionTower>> ReadVisionTower(const ConfigJson& config, const std::string& model_type,
                                                   int64_t text_hidden, ParameterBuilder& build) {
  const std::optional<ConfigJson> vision = config.Object("vision_config");
  if (!vision) return std::nullopt;
  VisionTower tower;
  const std::string kind = vision->Text("model_type").value_or("");
  build.set_prefix("vision.");
  const auto* reader = std::find_if(std::begin(kTowerReaders), std::end(kTowerReaders),
                                    [&](const TowerReader& row) { return row.model_type == model_type; });
  if (reader != std::end(kTowerReaders)) {
    MEMSTRATA_TRY(reader->read(config, text_hidden, tower, build));
    return tower;
  }
  if (model_type == "qwen2_vl" || model_type == "qwen2_5_vl") {
    MEMSTRATA_TRY(ReadQwen(*vision, model_type == "qwen2_vl", tower, build));
  } else if (kind == "clip_vision_model" || kind == "siglip_vision_model") {
    MEMSTRATA_TRY(ReadFixed(*vision, kind == "clip_vision_model", tower, build));
    const auto* known = std::find_if(std::begin(kProjectedModels), std::end(kProjectedModels),
                                     [&](const ProjectedModel& row) { return row.model_type == model_type; });
    tower.is_guessed = known == std::end(kProjectedModels);
    const ProjectedModel& model = tower.is_guessed ? kProjectedModels[0] : *known;
    AddProjection(model.projection, tower, text_hidden, build);
    if (model.has_newline) build.Add("newline", {text_hidden}, Role::kPosition);
    if (model_type == "gemma3") {
      MEMSTRATA_ASSIGN_OR_RETURN(const int64_t tokens, config.Integer("mm_tokens_per_image", 256));
      if (tokens > 0) tower.patches_per_token = std::max<int64_t>(1, tower.image_tokens / tokens);
    }
  } else {
    return std::nullopt;
  }
  return tower;
}

}  // namespace memstrata::plan
