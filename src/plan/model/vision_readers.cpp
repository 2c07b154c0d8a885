#include "plan/model/vision_readers.h"

#include <fmt/format.h>

namespace memstrata::plan {
namespace {

// A size that products of a few stay within 64 bits of.
Result<int64_t> Size(const ConfigJson& vision, std::string_view key, int64_t otherwise) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t size, vision.Integer(key, otherwise));
  if (size > 0 && size <= ConfigJson::kLargestSize) return size;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("A vision tower with a \"{}\" of {}.", key, size));
}

// Layers and widths under their usual names, and the patches of an image along one side.
struct Grid {
  int64_t patch = 0;
  int64_t side = 0;
};

Result<Grid> ReadSizes(const ConfigJson& vision, const char* heads_key, VisionTower& tower) {
  MEMSTRATA_ASSIGN_OR_RETURN(tower.layer_count, vision.Layers({"num_hidden_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.hidden, Size(vision, "hidden_size", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.intermediate, Size(vision, "intermediate_size", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.heads, Size(vision, heads_key, 0));
  Grid grid;
  MEMSTRATA_ASSIGN_OR_RETURN(grid.patch, Size(vision, "patch_size", 14));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t image, Size(vision, "image_size", 224));
  constexpr int64_t kMostPatches = 4096;  // along a side
  if (grid.patch > image || image / grid.patch > kMostPatches)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("An image of {} has no patches of {}.", image, grid.patch));
  grid.side = image / grid.patch;
  return grid;
}

void AddPatches(const VisionTower& tower, int64_t patch, bool has_bias, ParameterBuilder& build) {
  build.Add("patches.weight", {tower.hidden, kVisionChannels, patch, patch}, Role::kConvolution);
  if (has_bias) build.Add("patches.bias", {tower.hidden}, Role::kColumnBias);
}

void AddMerger(const char* name, int64_t merged, int64_t norm_width, int64_t out, ParameterBuilder& build) {
  build.Norm(fmt::format("{}.norm", name), norm_width, true);
  build.Linear(fmt::format("{}.first", name), merged, merged, true, Role::kReplicatedLinear);
  build.Linear(fmt::format("{}.second", name), out, merged, true, Role::kReplicatedLinear);
}

}  // namespace

// Images of any size with learned positions; results of some layers go into the language model beside the last one's.
Status ReadQwen3Tower(const ConfigJson& config, int64_t, VisionTower& tower, ParameterBuilder& build) {
  const ConfigJson vision = *config.Object("vision_config");
  MEMSTRATA_ASSIGN_OR_RETURN(tower.layer_count, vision.Layers({"depth"}));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.hidden, Size(vision, "hidden_size", 1152));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.intermediate, Size(vision, "intermediate_size", 4304));
  MEMSTRATA_ASSIGN_OR_RETURN(tower.heads, Size(vision, "num_heads", 16));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t out, Size(vision, "out_hidden_size", 3584));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t patch, Size(vision, "patch_size", 16));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t frames, Size(vision, "temporal_patch_size", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t merge, Size(vision, "spatial_merge_size", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t positions, Size(vision, "num_position_embeddings", 2304));
  constexpr int64_t kMostMerged = 1024;
  if (merge > kMostMerged)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("Patches merged {} by {}.", merge, merge));
  tower.patches_per_token = merge * merge;
  build.Add("patches.weight", {tower.hidden, kVisionChannels, frames, patch, patch}, Role::kConvolution);
  build.Add("patches.bias", {tower.hidden}, Role::kColumnBias);
  build.Add("positions", {positions, tower.hidden}, Role::kPosition);
  AddVisionLayers(tower, {.fuses_qkv = true}, build);
  const int64_t merged = tower.hidden * merge * merge;
  AddMerger("merger", merged, tower.hidden, out, build);
  const size_t depths = vision.Integers("deepstack_visual_indexes").size();
  if (depths > static_cast<size_t>(tower.layer_count))
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} results of {} layers.", depths, tower.layer_count));
  for (size_t i = 0; i < depths; ++i) AddMerger(fmt::format("deep_mergers.{}", i).c_str(), merged, merged, out, build);
  return {};
}

Status ReadLlama4Tower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build) {
  const ConfigJson vision = *config.Object("vision_config");
  MEMSTRATA_ASSIGN_OR_RETURN(const Grid grid, ReadSizes(vision, "num_attention_heads", tower));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t first, Size(vision, "projector_input_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t second, Size(vision, "projector_output_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t out, Size(vision, "vision_output_dim", 7680));
  const double ratio = vision.Number("pixel_shuffle_ratio").value_or(0.5);
  if (ratio > 0 && ratio <= 1) tower.patches_per_token = static_cast<int64_t>(1 / (ratio * ratio));
  tower.image_tokens = grid.side * grid.side + 1;
  AddPatches(tower, grid.patch, false, build);
  build.Add("class_token", {tower.hidden}, Role::kPosition);
  build.Add("positions", {tower.image_tokens, tower.hidden}, Role::kPosition);
  for (const char* name : {"first_norm", "last_norm"}) build.Norm(name, tower.hidden, true);
  AddVisionLayers(tower, {}, build);
  build.Linear("shuffle.first", first, tower.intermediate, false, Role::kReplicatedLinear);
  build.Linear("shuffle.second", second, second, false, Role::kReplicatedLinear);
  build.Linear("projection", text_hidden, out, false, Role::kReplicatedLinear);
  return {};
}

// An image is cut into tiles; tables hold positions for each way to lay the tiles out.
Status ReadMllamaTower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build) {
  const ConfigJson vision = *config.Object("vision_config");
  MEMSTRATA_ASSIGN_OR_RETURN(const Grid grid, ReadSizes(vision, "attention_heads", tower));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t tiles, Size(vision, "max_num_tiles", 4));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t out, Size(vision, "vision_output_dim", 7680));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t global_layers, Size(vision, "num_global_layers", 8));
  if (tiles > ConfigJson::kMostLayers || global_layers > ConfigJson::kMostLayers)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} tiles and {} global layers.", tiles, global_layers));
  constexpr int64_t kUsualLayouts = 8;  // ways to lay out up to four tiles
  const int64_t layouts =
      1 + (vision.Has("supported_aspect_ratios") ? vision.ArraySize("supported_aspect_ratios") : kUsualLayouts);
  const int64_t tile_tokens = grid.side * grid.side + 1;
  tower.image_tokens = tower.cross_tokens = tiles * tile_tokens;
  AddPatches(tower, grid.patch, false, build);
  build.Add("class_token", {tower.hidden}, Role::kPosition);
  build.Add("positions", {tile_tokens, tower.hidden}, Role::kPosition);
  build.Add("tile_positions", {layouts, tiles * tile_tokens * tower.hidden}, Role::kPosition);
  for (const char* name : {"tiles_before", "tiles_after"})
    build.Add(name, {layouts, tiles * tower.hidden}, Role::kPosition);
  constexpr int64_t kTableGates = 3;
  build.Add("table_gates", {kTableGates}, Role::kNorm);
  for (const char* name : {"first_norm", "last_norm"}) build.Norm(name, tower.hidden, true);
  const VisionLayerForm form{.attention_bias = false};
  AddVisionLayers(tower, form, build);
  VisionTower global = tower;
  global.layer_count = global_layers;
  AddVisionLayers(global, form, build);
  build.Add("global_gates", {2 * global_layers}, Role::kNorm);
  tower.layer_count += global_layers;
  build.Linear("projection", text_hidden, out, true, Role::kReplicatedLinear);
  return {};
}

// Idefics 3 and SmolVLM: SigLIP's layers, and one product that merges squares of patches.
Status ReadIdefics3Tower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build) {
  const ConfigJson vision = *config.Object("vision_config");
  MEMSTRATA_ASSIGN_OR_RETURN(const Grid grid, ReadSizes(vision, "num_attention_heads", tower));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t scale, Size(config, "scale_factor", 2));
  if (scale > grid.side)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} patches a side merged by {}.", grid.side, scale));
  tower.image_tokens = grid.side * grid.side;
  tower.patches_per_token = scale * scale;
  AddPatches(tower, grid.patch, true, build);
  build.Add("positions", {tower.image_tokens, tower.hidden}, Role::kPosition);
  AddVisionLayers(tower, {}, build);
  build.Norm("last_norm", tower.hidden, true);
  build.Linear("projection", text_hidden, tower.hidden * scale * scale, false, Role::kReplicatedLinear);
  return {};
}

// Rotary positions, so images of any size; no biases.
Status ReadPixtralTower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build) {
  const ConfigJson vision = *config.Object("vision_config");
  MEMSTRATA_ASSIGN_OR_RETURN(const Grid grid, ReadSizes(vision, "num_attention_heads", tower));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t merge, Size(config, "spatial_merge_size", 2));
  if (merge > grid.side)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} patches a side merged by {}.", grid.side, merge));
  const bool has_bias = config.Flag("multimodal_projector_bias", false);
  tower.is_gated = true;
  tower.patches_per_token = merge * merge;
  AddPatches(tower, grid.patch, false, build);
  build.Norm("first_norm", tower.hidden, false);
  AddVisionLayers(tower, {.norm_bias = false, .attention_bias = false, .mlp_bias = false}, build);
  build.Norm("projection.norm", tower.hidden, false);
  build.Linear("projection.merging", tower.hidden, tower.hidden * merge * merge, false, Role::kReplicatedLinear);
  build.Linear("projection.first", text_hidden, tower.hidden, has_bias, Role::kReplicatedLinear);
  build.Linear("projection.second", text_hidden, text_hidden, has_bias, Role::kReplicatedLinear);
  return {};
}

}  // namespace memstrata::plan
