#include "plan/request_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>

#include "plan/model/weights_file.h"
#include "plan/toml_table.h"

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

Result<ModelDescription> DescribeFile(const std::string& path) {
  if (path.ends_with(".safetensors") || path.ends_with(".gguf") || path.ends_with(".index.json")) {
    Result<ModelDescription> model = DescribeWeightsFile(path);
    if (!model) return tl::unexpected(WithFile(model.error(), path));
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

Result<ModelDescription> DescribeAny(const std::string& text) {
  if (text.find('=') != std::string::npos && !FileExists(text)) return DescribeExplicit(text);
  if (FileExists(text)) return DescribeFile(text);
  Result<ModelDescription> preset = DescribePreset(text);
  if (preset) return preset;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no file. {}", text, preset.error().message));
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

Result<RequestFile> ReadRequestFile(const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxConfigBytes));
  Result<TomlTable> table = ParseToml(text);
  if (!table) return tl::unexpected(WithFile(table.error(), path));
  RequestFile file;
  for (const auto& [name, value] : table->values) {
    if (name == "model") {
      file.model = value;
    } else {
      file.inputs.emplace_back(name, value == "true" ? "yes" : value == "false" ? "no" : value);
    }
  }
  for (const auto& [name, values] : table->lists) {
    for (const std::string& value : values) file.inputs.emplace_back(name, value);
  }
  return file;
}

}  // namespace memstrata::plan
