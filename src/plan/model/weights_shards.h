#pragma once
// The files that a model's weights are cut into.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memstrata::plan {

struct WeightsShards {
  std::vector<std::string> files;                     // paths, in order
  std::map<std::string, std::string> file_of_tensor;  // as an index lists them; empty without an index
  std::optional<uint64_t> total_bytes;                // of all tensors, as an index says
};

/// A file, all shards of the set that it is one of ("NAME-00001-of-00003.gguf"), or the shards of an index. Reads no
/// more than an index.
Result<WeightsShards> FindShards(const std::string& path);

}  // namespace memstrata::plan
