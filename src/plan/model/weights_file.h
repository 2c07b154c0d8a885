#pragma once
// Weights files without their weights: the headers of safetensors and GGUF files say each tensor's shape and type.
// Sizes are the sum over tensors by their own types, never parameters times a name's nominal bits.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/model/gguf_file.h"
#include "plan/model/model_description.h"
#include "plan/model/stored_tensor.h"

namespace memstrata::plan {

/// Parses the header of a safetensors file from its first bytes. `file_bytes` is the whole file's size; a
/// header whose tensors do not lie in it is of a file that was cut.
Result<WeightsHeader> ParseSafetensors(std::string_view head, uint64_t file_bytes);
/// A .safetensors or .gguf file, an index of shards beside it, or one of llama.cpp's shards. A GGUF header also tells
/// layers, heads and windows; of other files only the weights are known.
Result<ModelDescription> DescribeWeightsFile(const std::string& path);

}  // namespace memstrata::plan
