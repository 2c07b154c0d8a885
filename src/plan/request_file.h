#pragma once
// Reading what a plan is asked for: request files, and models in whatever form they are named.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/model/model_description.h"

namespace memstrata::plan {

/// A TOML file with `model = "…"` and the inputs of a workload.
struct RequestFile {
  std::string model;
  std::vector<std::pair<std::string, std::string>> inputs;
};
Result<RequestFile> ReadRequestFile(const std::string& path);

/// A config.json, a weights file (.safetensors, .gguf, an index of shards), a built-in name, or the explicit form.
Result<ModelDescription> DescribeAny(const std::string& text);
/// "7e9", "7B", "7000000000".
Result<ModelDescription> DescribeCountText(std::string_view text);

/// At most `limit_bytes` of a file.
Result<std::string> ReadSmallFile(const std::string& path, size_t limit_bytes);

}  // namespace memstrata::plan
