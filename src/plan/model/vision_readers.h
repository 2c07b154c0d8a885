#pragma once
// Vision towers that share no form with CLIP's: each reads `vision_config` and adds its tensors and its projection.

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"
#include "plan/model/vision_tower.h"

namespace memstrata::plan {

inline constexpr int64_t kVisionChannels = 3;

/// What differs between the layers of towers.
struct VisionLayerForm {
  bool norm_bias = true;
  bool fuses_qkv = false;
  bool attention_bias = true;
  bool mlp_bias = true;
};
void AddVisionLayers(const VisionTower& tower, const VisionLayerForm& form, ParameterBuilder& build);

Status ReadQwen3Tower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);
Status ReadLlama4Tower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);
Status ReadMllamaTower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);
Status ReadIdefics3Tower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);
Status ReadPixtralTower(const ConfigJson& config, int64_t text_hidden, VisionTower& tower, ParameterBuilder& build);

}  // namespace memstrata::plan
