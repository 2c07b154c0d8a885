#include <fmt/format.h>

#include "plan/model/model_description.h"
#include "plan/toml_table.h"

namespace memstrata::data {
extern const std::string_view kModelPresets;
}

namespace memstrata::plan {
namespace {

const std::vector<TomlTable>& Presets() {
  static const std::vector<TomlTable> kPresets = [] {
    Result<TomlTable> document = ParseToml(data::kModelPresets);
    return document ? document->table_lists["model"] : std::vector<TomlTable>{};
  }();
  return kPresets;
}

}  // namespace

Result<std::string> PresetConfig(std::string_view name) {
  for (const TomlTable& preset : Presets()) {
    if (preset.Text("name") == name) return preset.Text("config");
  }
  std::string all;
  for (const std::string& preset : PresetNames()) all += (all.empty() ? "" : ", ") + preset;
  return Fail(ErrorCode::kNotFound, fmt::format("There is no built-in model \"{}\". Built in are {}.", name, all));
}

Result<ModelDescription> DescribePreset(std::string_view name) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string config, PresetConfig(name));
  MEMSTRATA_ASSIGN_OR_RETURN(ModelDescription model, DescribeConfig(config, std::string(name)));
  model.source = "built-in preset";
  return model;
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const TomlTable& preset : Presets()) names.push_back(preset.Text("name"));
  return names;
}

int64_t PublishedParameterCount(std::string_view name) {
  for (const TomlTable& preset : Presets()) {
    if (preset.Text("name") == name) return static_cast<int64_t>(preset.Number("parameters"));
  }
  return 0;
}

}  // namespace memstrata::plan
