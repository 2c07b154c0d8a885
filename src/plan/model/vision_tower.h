#pragma once
// The part of a vision-language model that turns an image into tokens: CLIP's and SigLIP's towers (LLaVA, Gemma 3,
// PaliGemma), Qwen-VL's, Llama's, Idefics', Pixtral's, and the projection into the language model.

#include <optional>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

struct VisionTower {
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t image_tokens = 0;       // of one image in the tower; 0: images have no fixed size
  int64_t patches_per_token = 1;  // of the language model
  int64_t cross_tokens = 0;       // of one image, that layers of cross-attention keep keys and values of
  bool is_gated = false;
  bool is_guessed = false;  // the model's type is not known: its projection is taken to be LLaVA's

  /// Bytes that one layer saves for the backward, a token, in 16 bits: inputs of both norms and both blocks, queries,
  /// keys, values, attention's result, and the MLP's inner tensors.
  int64_t SavedEach() const { return 8 * hidden + 8 * hidden + 4 * heads + 2 * (is_gated ? 4 : 2) * intermediate; }
};

/// Reads `vision_config` of a vision-language model and adds its tensors; nothing when the kind is not known.
Result<std::optional<VisionTower>> ReadVisionTower(const ConfigJson& config, const std::string& model_type,
                                                   int64_t text_hidden, ParameterBuilder& build);

}  // namespace memstrata::plan
