#include "plan/model/diffusion_spec.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

struct DiffusionModel {
  std::string_view class_name;
  Result<DiffusionSpec> (*read)(const ConfigJson& config, ParameterBuilder& build);
};

constexpr DiffusionModel kModels[] = {
    {"UNet2DConditionModel", ReadUnet},
    {"FluxTransformer2DModel", ReadFlux},
    {"SD3Transformer2DModel", ReadStableDiffusion3},
    {"HunyuanVideoTransformer3DModel", ReadHunyuanVideo},
    {"QwenImageTransformer2DModel", ReadQwenImage},
    {"CogVideoXTransformer3DModel", ReadCogVideoX},
    {"DiTTransformer2DModel", ReadDit},
    {"PixArtTransformer2DModel", ReadPixArt},
    {"Transformer2DModel", ReadPatchTransformer},
    {"HunyuanDiT2DModel", ReadHunyuanDit},
    {"WanTransformer3DModel", ReadWan},
    {"LTXVideoTransformer3DModel", ReadLtxVideo},
};

const DiffusionModel* Find(std::string_view class_name) {
  const auto* found = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const DiffusionModel& model) { return model.class_name == class_name; });
  return found == std::end(kModels) ? nullptr : found;
}

}  // namespace

void SampleElements::Add(const SampleElements& other) {
  fixed += other.fixed;
  each_image_token += other.each_image_token;
  each_text_token += other.each_text_token;
}

void DiffusionSpec::AddBlock(const SampleElements& saved_elements, const SampleElements& input_elements) {
  saved.Add(saved_elements);
  inputs.Add(input_elements);
  if (saved_elements.Of(image_tokens, text_tokens) > largest.Of(image_tokens, text_tokens)) largest = saved_elements;
  ++block_count;
}

void DiffusionSpec::AddBlock(int64_t saved_elements, int64_t input_elements) {
  AddBlock({static_cast<double>(saved_elements), 0, 0}, {static_cast<double>(input_elements), 0, 0});
}

bool IsDiffusion(std::string_view class_name) { return Find(class_name) != nullptr; }

Result<DiffusionSpec> ReadDiffusion(const ConfigJson& config, std::string_view class_name, ParameterBuilder& build) {
  return Find(class_name)->read(config, build);
}

}  // namespace memstrata::plan
