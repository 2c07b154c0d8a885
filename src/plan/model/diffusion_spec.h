#pragma once
// Denoisers of diffusion models under the names of diffusers: UNets, and transformers over the tokens of a picture or a
// video. Tensors are exact (tests/oracle/diffusion_counts.jsonl); what a block keeps was counted with diffusers 0.35 on
// the simulated card.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

/// Elements of the step's precision for one sample.
struct SampleElements {
  double fixed = 0;  // of a UNet, whose samples have the configured size
  double each_image_token = 0;
  double each_text_token = 0;

  double Of(int64_t image_tokens, int64_t text_tokens) const {
    return fixed + each_image_token * static_cast<double>(image_tokens) +
           each_text_token * static_cast<double>(text_tokens);
  }
  void Add(const SampleElements& other);
};

struct DiffusionSpec {
  int64_t image_tokens = 0;  // of a sample of the usual size, 0: a UNet
  int64_t text_tokens = 0;
  std::string sample;      // what that size is, in words
  SampleElements saved;    // by all blocks for the backward
  SampleElements inputs;   // of all blocks: what is kept when each is run again
  SampleElements largest;  // saved by the block that saves most
  int64_t block_count = 0;
  std::vector<BufferSpec> buffers;

  void AddBlock(const SampleElements& saved_elements, const SampleElements& input_elements);
  /// A block of a UNet.
  void AddBlock(int64_t saved_elements, int64_t input_elements);
};

/// True for a `_class_name` that is known.
bool IsDiffusion(std::string_view class_name);
Result<DiffusionSpec> ReadDiffusion(const ConfigJson& config, std::string_view class_name, ParameterBuilder& build);

// The readers, each family in the file of its kind; the one list of them is in diffusion_spec.cpp.
Result<DiffusionSpec> ReadUnet(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadFlux(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadStableDiffusion3(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadHunyuanVideo(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadQwenImage(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadCogVideoX(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadDit(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadPixArt(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadPatchTransformer(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadHunyuanDit(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadWan(const ConfigJson& config, ParameterBuilder& build);
Result<DiffusionSpec> ReadLtxVideo(const ConfigJson& config, ParameterBuilder& build);

}  // namespace memstrata::plan
