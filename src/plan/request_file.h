#pragma once
// Reading what a plan is asked for: request files, and models in whatever form they are named.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "plan/toml_table.h"

namespace memstrata::plan {

/// What a request says, from a file, flags or the page: models, cards and the inputs of a workload, as texts.
struct RequestTexts {
  std::string model;
  std::string parameters;  // a count alone, in place of a model
  std::string draft;
  std::vector<std::string> cards;
  std::vector<std::pair<std::string, std::string>> inputs;
};
/// A YAML file by its ending (.yaml, .yml), else TOML.
Result<RequestTexts> ReadRequestFile(const std::string& path);
/// kInvalidArgument names what a request cannot hold; `parallel` may be a table of degrees.
Result<RequestTexts> ParseRequest(const TomlTable& table);

/// Whether a request may name files of this machine. One that comes over a socket may not.
enum class FileUse : uint8_t { kRead, kNever };
/// Describes the models and sets the inputs. Cards are left to the caller: one request is planned on each.
Result<PlanRequest> MakeRequest(const RequestTexts& texts, FileUse files);

/// A config.json, a weights file (.safetensors, .gguf, an index of shards), a built-in name, or the explicit form.
Result<ModelDescription> DescribeAny(const std::string& text);
/// The same without files.
Result<ModelDescription> DescribeNamed(const std::string& text);
/// "7e9", "7B", "7000000000".
Result<ModelDescription> DescribeCountText(std::string_view text);

/// At most `limit_bytes` of a file.
Result<std::string> ReadSmallFile(const std::string& path, size_t limit_bytes);

}  // namespace memstrata::plan
