#pragma once
// How a checkpoint keeps its weights, by the `quantization_config` of its configuration.

#include <optional>

#include "plan/model/config_json.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// Nothing when the configuration names none, or one that is not known (`unknown` then has its name).
std::optional<WeightFormat> ReadStoredFormat(const ConfigJson& config, std::string& unknown);

}  // namespace memstrata::plan
