#include "plan/model/vision_tower.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::plan {
namespace {

constexpr int64_t kChannels = 3;

enum class Projection : uint8_t { kLinear, kTwoLayers, kNormed };

void AddLayers(const VisionTower& tower, bool norm_bias, bool fuses_qkv, ParameterBuilder& build) {
  for (int64_t layer = 0; layer < tower.layer_count; ++layer) {
    build.set_prefix(fmt::format("vision.layers.{}.", layer));
    if (fuses_qkv) {
      build.Linear("qkv", 3 * tower.hidden, tower.hidden, true, Role::kReplicatedLinear);
    } else {
      for (const char* name : {"q", "k", "v"})
        build.Linear(name, tower.hidden, tower.hidden, true, Role::kReplicatedLinear);
    }
    build.Linear("out", tower.hidden, tower.hidden, true, Role::kReplicatedLinear);
    if (tower.is_gated) build.Linear("gate", tower.intermediate, tower.hidden, true, Role::kReplicatedLinear);
    build.Linear("up", tower.intermediate, tower.hidden, true, Role::kReplicatedLinear);
    build.Linear("down", tower.hidden, tower.intermediate, true, Role::kReplicatedLinear);
    build.Norm("attention_norm", tower.hidden, norm_bias);
    build.Norm("mlp_norm", tower.hidden, norm_bias);
  }
  build.set_prefix("vision.");
}

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
  build.Add("patches.weight", {tower.hidden, kChannels, patch, patch}, Role::kConvolution);
  if (!has_class_token) build.Add("patches.bias", {tower.hidden}, Role::kColumnBias);
  build.Add("positions", {tower.image_tokens, tower.hidden}, Role::kPosition);
  if (has_class_token) build.Norm("first_norm", tower.hidden, true);
  AddLayers(tower, true, false, build);
  build.Norm("last_norm", tower.hidden, true);
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
  build.Add("patches.weight", {tower.hidden, kChannels, frames, patch, patch}, Role::kConvolution);
  AddLayers(tower, is_first, true, build);
  const int64_t merged = tower.hidden * merge * merge;
  build.Norm("merger_norm", tower.hidden, is_first);
  build.Linear("merger.first", merged, merged, true, Role::kReplicatedLinear);
  build.Linear("merger.second", out, merged, true, Role::kReplicatedLinear);
  return {};
}

}  // namespace

Result<std::optional<VisionTower>> ReadVisionTower(const ConfigJson& config, const std::string& model_type,
                                                   int64_t text_hidden, ParameterBuilder& build) {
  const std::optional<ConfigJson> vision = config.Object("vision_config");
  if (!vision) return std::nullopt;
  VisionTower tower;
  const std::string kind = vision->Text("model_type").value_or("");
  build.set_prefix("vision.");
  if (model_type == "qwen2_vl" || model_type == "qwen2_5_vl") {
    MEMSTRATA_TRY(ReadQwen(*vision, model_type == "qwen2_vl", tower, build));
  } else if (kind == "clip_vision_model" || kind == "siglip_vision_model") {
    MEMSTRATA_TRY(ReadFixed(*vision, kind == "clip_vision_model", tower, build));
    AddProjection(model_type == "gemma3"      ? Projection::kNormed
                  : model_type == "paligemma" ? Projection::kLinear
                                              : Projection::kTwoLayers,
                  tower, text_hidden, build);
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
