#include "plan/model/unconverted.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::plan {
namespace {

constexpr size_t kMostPatterns = 4096;

// Where transformers keeps what this planner's names begin with; some families have it elsewhere.
struct Place {
  std::string_view own;      // beginning of the name behind its layer
  std::string_view modules;  // of transformers, in the layer; alternatives with | between them
};

constexpr Place kPlaces[] = {
    {"router", "mlp.gate|mlp.router|block_sparse_moe.gate|feed_forward.router"},
    {"experts.", "mlp.experts|block_sparse_moe.experts|feed_forward.experts"},
    {"shared.", "mlp.shared_expert|mlp.shared_experts|feed_forward.shared_expert"},
    {"shared_gate", "mlp.shared_expert_gate"},
    {"mixer.", "mixer|mamba|linear_attn|conv"},
    {"gate_proj", "mlp.gate_proj|feed_forward.gate_proj"},
    {"up_proj", "mlp.up_proj|feed_forward.up_proj"},
    {"gate_up_proj", "mlp.gate_up_proj"},
    {"down_proj", "mlp.down_proj|feed_forward.down_proj"},
};

std::vector<std::string> ModulesInLayer(std::string_view name) {
  std::vector<std::string> modules;
  for (const Place& place : kPlaces) {
    if (!name.starts_with(place.own)) continue;
    std::string_view rest = place.modules;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('|'), rest.size());
      std::string module(rest.substr(0, end));
      if (place.own.ends_with('.')) module += fmt::format(".{}", name.substr(place.own.size()));
      modules.push_back(std::move(module));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return modules;
  }
  modules.push_back(fmt::format("self_attn.{}", name));
  return modules;
}

// The names that a parameter has in transformers' models, without ".weight".
std::vector<std::string> PathsOf(const ParameterSpec& parameter) {
  std::string_view name = parameter.name;
  for (const std::string_view end : {".weight", ".bias"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  std::vector<std::string> paths;
  if (name.starts_with("vision.")) {
    name.remove_prefix(std::string_view("vision.").size());
    for (const char* tower : {"visual", "vision_tower", "vision_model", "multi_modal_projector"})
      paths.push_back(fmt::format("model.{}.{}", tower, name));
    return paths;
  }
  const size_t layer_end = name.starts_with("layers.") ? name.find('.', std::string_view("layers.").size()) : 0;
  if (layer_end == 0 || layer_end == std::string_view::npos) return {std::string(name), fmt::format("model.{}", name)};
  for (const std::string& module : ModulesInLayer(name.substr(layer_end + 1))) {
    for (const char* model : {"model", "model.language_model", "language_model.model"})
      paths.push_back(fmt::format("{}.{}.{}", model, name.substr(0, layer_end), module));
  }
  return paths;
}

// `text` against `glob` with * for anything.
bool Matches(std::string_view glob, std::string_view text) {
  size_t at = 0, glob_at = 0, star = std::string_view::npos, retry = 0;
  while (at < text.size()) {
    if (glob_at < glob.size() && glob[glob_at] == '*') {
      star = glob_at++;
      retry = at;
    } else if (glob_at < glob.size() && glob[glob_at] == text[at]) {
      ++glob_at;
      ++at;
    } else if (star != std::string_view::npos) {
      glob_at = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (glob_at < glob.size() && glob[glob_at] == '*') ++glob_at;
  return glob_at == glob.size();
}

std::string GlobOf(std::string_view pattern) {
  if (!pattern.starts_with("re:")) return std::string(pattern);
  pattern.remove_prefix(3);
  std::string glob;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '^' || pattern[i] == '$') continue;
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      glob += pattern[++i];
    } else if (pattern.substr(i).starts_with(".*")) {
      glob += '*';
      ++i;
    } else {
      glob += pattern[i];
    }
  }
  return glob;
}

std::vector<std::string> PatternsOf(const ConfigJson& quantization) {
  std::vector<std::string> patterns;
  for (const char* key :
       {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"}) {
    for (std::string& pattern : quantization.Texts(key)) patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace

bool NamesModule(std::string_view pattern, std::string_view path) {
  const std::string glob = GlobOf(pattern);
  if (glob.empty()) return false;
  for (size_t begin = 0; begin < path.size();) {
    for (size_t end = begin; end < path.size();) {
      end = std::min(path.find('.', end + 1), path.size());
      if (Matches(glob, path.substr(begin, end - begin))) return true;
    }
    const size_t next = path.find('.', begin);
    if (next == std::string_view::npos) break;
    begin = next + 1;
  }
  return false;
}

std::vector<std::string> MarkUnconverted(const ConfigJson& config, std::vector<ParameterSpec>& parameters) {
  const std::optional<ConfigJson> quantization = config.Object("quantization_config");
  if (!quantization) return {};
  std::vector<std::string> patterns = PatternsOf(*quantization);
  if (patterns.size() > kMostPatterns) patterns.resize(kMostPatterns);
  std::vector<bool> is_used(patterns.size(), false);
  for (ParameterSpec& parameter : parameters) {
    const std::vector<std::string> paths = PathsOf(parameter);
    for (size_t i = 0; i < patterns.size(); ++i) {
      const bool names_it = std::any_of(paths.begin(), paths.end(),
                                        [&](const std::string& path) { return NamesModule(patterns[i], path); });
      if (!names_it) continue;
      parameter.keeps_precision = is_used[i] = true;
    }
  }
  std::vector<std::string> unused;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!is_used[i]) unused.push_back(patterns[i]);
  }
  return unused;
}

}  // namespace memstrata::plan
