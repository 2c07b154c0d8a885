#include "plan/request_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "plan/model/weights_file.h"
#include "plan/toml_table.h"
#include "plan/yaml_table.h"

namespace memstrata::plan {
namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;

Error WithFile(Error error, const std::string& path) {
  error.file = path;
  return error;
}

bool FileExists(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  return file != nullptr;
}

Result<ModelDescription> DescribeWeights(const std::string& path) {
  Result<ModelDescription> model = DescribeWeightsFile(path);
  if (!model) return tl::unexpected(WithFile(model.error(), path));
  return model;
}

Result<ModelDescription> DescribeFile(const std::string& path);

// A checkpoint as Hugging Face lays it out: the configuration says the layers, the weights' headers their bytes.
Result<ModelDescription> DescribeFolder(const std::string& folder) {
  std::string weights;
  for (const char* name : {"model.safetensors.index.json", "model.safetensors",
                           "diffusion_pytorch_model.safetensors.index.json", "diffusion_pytorch_model.safetensors"}) {
    if (weights.empty() && FileExists(folder + "/" + name)) weights = folder + "/" + name;
  }
  const std::string config = folder + "/config.json";
  if (!FileExists(config)) {
    if (!weights.empty()) return DescribeFile(weights);
    return tl::unexpected(
        Error{ErrorCode::kNotFound, "The folder has neither config.json nor model.safetensors.", folder, {}});
  }
  MEMSTRATA_ASSIGN_OR_RETURN(ModelDescription model, DescribeFile(config));
  model.name = std::filesystem::path(folder + "/").parent_path().filename().string();
  if (weights.empty()) return model;
  MEMSTRATA_ASSIGN_OR_RETURN(const ModelDescription stored, DescribeWeights(weights));
  model.stored_weight_bytes = stored.stored_weight_bytes;
  model.source += " and " + stored.source;
  model.notes.insert(model.notes.end(), stored.notes.begin(), stored.notes.end());
  if (!model.stored_format && stored.parameter_count != model.parameter_count) {
    model.notes.push_back(fmt::format("The weights files hold {} parameters, the configuration makes {}.",
                                      stored.parameter_count, model.parameter_count));
  }
  return model;
}

Result<ModelDescription> DescribeFile(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) return DescribeFolder(path);
  if (path.ends_with(".safetensors") || path.ends_with(".gguf") || path.ends_with(".index.json")) {
    MEMSTRATA_ASSIGN_OR_RETURN(ModelDescription model, DescribeWeights(path));
    if (model.hidden == 0) model.notes.push_back("The header says nothing of layers and heads: weights alone.");
    return model;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxConfigBytes));
  Result<ModelDescription> model = DescribeConfig(text, path.substr(path.find_last_of('/') + 1));
  if (!model) return tl::unexpected(WithFile(model.error(), path));
  return model;
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, size_t limit_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr)
    return tl::unexpected(Error{ErrorCode::kNotFound, "The file does not exist or cannot be read.", path, {}});
  std::string text(limit_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (text.size() > limit_bytes) {
    return tl::unexpected(
        Error{ErrorCode::kLimitExceeded, fmt::format("The file is larger than {} bytes.", limit_bytes), path, {}});
  }
  return text;
}

Result<ModelDescription> DescribeNamed(const std::string& text) {
  if (text.find('=') != std::string::npos) return DescribeExplicit(text);
  Result<ModelDescription> preset = DescribePreset(text);
  if (preset) return preset;
  return Fail(ErrorCode::kInvalidArgument, preset.error().message);
}

Result<ModelDescription> DescribeAny(const std::string& text) {
  if (FileExists(text)) return DescribeFile(text);
  Result<ModelDescription> named = DescribeNamed(text);
  if (named || text.find('=') != std::string::npos) return named;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no file. {}", text, named.error().message));
}

Result<ModelDescription> DescribeCountText(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const double factor = unit.empty() ? 1 : unit == "M" ? 1e6 : unit == "B" ? 1e9 : unit == "T" ? 1e12 : 0;
  const double count = value * factor;
  if (problem != std::errc{} || !(count >= 1) || count > 0x1p50) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--parameters takes a count from 1 to 2^50, as 7e9 or 7B, not \"{}\".", text));
  }
  return DescribeCount(std::llround(count));
}

Result<RequestTexts> ParseRequest(const TomlTable& table) {
  RequestTexts file;
  const auto fail = [](std::string text) { return Fail(ErrorCode::kInvalidArgument, std::move(text)); };
  for (const auto& [name, value] : table.values) {
    if (name == "model") {
      file.model = value;
    } else if (name == "parameters") {
      file.parameters = value;
    } else if (name == "recording") {
      file.recording = value;
    } else if (name == "draft") {
      file.draft = value;
    } else if (name == "card") {
      file.cards = {value};
    } else {
      file.inputs.emplace_back(name, value);
    }
  }
  for (const auto& [name, values] : table.lists) {
    if (name == "card") {
      file.cards = values;
    } else if (name == "asset") {
      for (const std::string& value : values) file.inputs.emplace_back(name, value);
    } else if (name == "lora-targets") {
      file.inputs.emplace_back(name, fmt::format("{}", fmt::join(values, ",")));
    } else {
      return fail(fmt::format("\"{}\" takes one value, not a list.", name));
    }
  }
  for (const auto& [name, degrees] : table.tables) {
    if (name != "parallel") return fail(fmt::format("\"{}\" is no table of a request; only parallel is one.", name));
    std::string text;
    for (const auto& [degree, value] : degrees.values)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", degree, value);
    file.inputs.emplace_back(name, text);
  }
  if (!table.table_lists.empty())
    return fail(fmt::format("\"{}\" is a list of tables; a request has none.", table.table_lists.begin()->first));
  return file;
}

Result<PlanRequest> MakeRequest(const RequestTexts& texts, FileUse files) {
  PlanRequest request;
  for (const auto& [name, value] : texts.inputs) MEMSTRATA_TRY(SetInput(request.workload, name, value));
  const auto describe = [files](const std::string& text) {
    return files == FileUse::kRead ? DescribeAny(text) : DescribeNamed(text);
  };
  if (!texts.model.empty() && !texts.parameters.empty())
    return Fail(ErrorCode::kInvalidArgument, "Give a model or a count of parameters, not both.");
  if (!texts.model.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.model, describe(texts.model));
  } else if (!texts.parameters.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.model, DescribeCountText(texts.parameters));
  } else if (!request.workload.assets.empty()) {
    request.model = {.name = "no model", .source = "assets alone"};
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                "Say what to plan for: --model config.json (or a built-in name, or \"layers=32 hidden=4096 …\"), "
                "--parameters 7e9, or --asset NAME=SIZE.");
  }
  if (!texts.draft.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.draft, describe(texts.draft));
  }
  return request;
}

Result<RequestTexts> ReadRequestFile(const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxConfigBytes));
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  const Result<TomlTable> table = is_yaml ? ParseYaml(text) : ParseToml(text);
  if (!table) return tl::unexpected(WithFile(table.error(), path));
  Result<RequestTexts> request = ParseRequest(*table);
  if (!request) return tl::unexpected(WithFile(request.error(), path));
  return request;
}

}  // namespace memstrata::plan
