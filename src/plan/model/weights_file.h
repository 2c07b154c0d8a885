#pragma once
// Weights files without their weights: the headers of safetensors and GGUF files say each tensor's shape and type.
// Sizes are the sum over tensors by their own types, never parameters times a name's nominal bits.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/model/model_description.h"

namespace memstrata::plan {

struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string type;  // as the file calls it
  uint64_t bytes = 0;
};

struct WeightsHeader {
  std::vector<StoredTensor> tensors;
  uint64_t total_bytes = 0;
  int64_t parameter_count = 0;
};

/// Parses the header of a safetensors file from its first bytes. `file_bytes` is the whole file's size; tensors must
/// lie in it.
Result<WeightsHeader> ParseSafetensors(std::string_view head, uint64_t file_bytes);
/// The same for GGUF, versions 2 and 3.
Result<WeightsHeader> ParseGguf(std::string_view head, uint64_t file_bytes);

/// A .safetensors or .gguf file, or an index of shards beside it.
Result<ModelDescription> DescribeWeightsFile(const std::string& path);

}  // namespace memstrata::plan
