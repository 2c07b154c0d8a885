#pragma once
// The parts of a quantised checkpoint that stay in the precision: `quantization_config` lists them by the names that
// transformers gives its modules.

#include <string>
#include <string_view>
#include <vector>

#include "plan/model/config_json.h"
#include "plan/model/parameter_spec.h"

namespace memstrata::plan {

/// Marks the parameters that `modules_to_not_convert`, `ignore`, `ignored_layers`, `exclude_modules` or
/// `llm_int8_skip_modules` names. Returns the entries that name none of the model's parts.
std::vector<std::string> MarkUnconverted(const ConfigJson& config, std::vector<ParameterSpec>& parameters);

/// True when `pattern` names `path` or a module around it. Both are names with dots; in the pattern `*` stands for
/// anything, and "re:" begins a regular expression, of which `.*`, `\.`, `^` and `$` are understood.
bool NamesModule(std::string_view pattern, std::string_view path);

}  // namespace memstrata::plan
