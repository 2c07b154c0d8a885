#pragma once
// Denoisers of diffusion models under the names of diffusers: the UNet of Stable Diffusion and SDXL, and the
// transformer of Flux. Tensors are exact; what a step keeps follows the blocks' forward, counted in elements.

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

/// Elements for one sample of the size that the configuration names.
struct DiffusionSpec {
  int64_t saved = 0;    // by all blocks for the backward
  int64_t inputs = 0;   // of all blocks: what is kept when each is run again
  int64_t largest = 0;  // saved by the block that saves most
  int64_t block_count = 0;

  void AddBlock(int64_t saved_elements, int64_t input_elements);
};

/// True for a `_class_name` that is known.
bool IsDiffusion(std::string_view class_name);
Result<DiffusionSpec> ReadDiffusion(const ConfigJson& config, std::string_view class_name, ParameterBuilder& build);

}  // namespace memstrata::plan
